/** Year, month and day in an order that people use. `Date.parse` alone takes "0" and "12" for dates, too. */
const CALENDAR_DATE =
  /\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|[a-z]{3,}[ ,.]+\d{1,2}[ ,].*\d{4}|\d{1,2}[ -][a-z]{3,}[ -]\d{4}/i;
const MAX_DATE_LENGTH = 64;

/** A day, month and year, with the day or the month first. */
const NUMERIC_DATE = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})/;

/** Returns the time of a date as the appliance writes it, or NaN for anything else, such as 0 for an account without an end. */
export function readDate(value: unknown): number {
  if (typeof value !== 'string' || value.length > MAX_DATE_LENGTH || !CALENDAR_DATE.test(value)) return Number.NaN;
  return Date.parse(
    value
      .trim()
      .replace(NUMERIC_DATE, (date, first: string, separator: string, second: string, year: string) =>
        isDayFirst(Number(first), separator) ? `${second}/${first}/${year}` : date,
      ),
  );
}

/** A date with periods starts with the day. `Date.parse` expects the month. */
function isDayFirst(first: number, separator: string): boolean {
  return separator === '.' || first > 12;
}

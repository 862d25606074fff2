import type { Transport } from '../http/transport';
import { createBasicAuthorizationHeader, type Reply } from '../http/exchange';
import { parseObject } from '../http/parse-object';
import { GatewayError, type GatewayErrorDetails } from '../model/error';
import { isObject } from '../model/json';
import { hasWebPagePath } from '../model/rules';
import { trusted, safeMessage, type SafeMessage } from '../model/safe-message';
import type { CheckedSettings } from '../model/settings';
import { SessionApiKey } from './pending-login';
import { parseRetryAfterMs } from './back-off';

const REALM_LOGIN_PATH = '/api/v1/realm_auth';
const LEGACY_LOGIN_PATH = '/api/v1/auth';

/** Result of one login step: the key, or the ID of the next step. */
export type LoginStepResult = { readonly key: SessionApiKey } | { readonly resumeId: string };

/** The requests of a login and the meaning of their responses (appliance-api.md, "Authentication endpoints"). */
export class LoginExchange {
  readonly #settings: CheckedSettings;
  readonly #transport: Transport;

  constructor(settings: CheckedSettings, transport: Transport) {
    this.#settings = settings;
    this.#transport = transport;
  }

  /**
   * Sends user name and password. Errors: `LOGIN_REJECTED`, `FORBIDDEN`, `NOT_FOUND`, `APPLIANCE_ERROR`, `BAD_RESPONSE`, and those of the
   * transport.
   */
  async sendCredentials(): Promise<LoginStepResult> {
    const { login, realm = '', username = '', password = '' } = this.#settings;
    const credentials = createBasicAuthorizationHeader(username, password);
    if (login === 'realm') return this.#readStep(await this.#send('POST', REALM_LOGIN_PATH, credentials, { realm }));
    // Some releases log in by GET (field-notes.md). These statuses come before a check of the credentials.
    const reply = await this.#send('POST', LEGACY_LOGIN_PATH, credentials);
    return this.#readStep([400, 404, 405].includes(reply.status) ? await this.#send('GET', LEGACY_LOGIN_PATH, credentials) : reply);
  }

  /** Answers a step with a code or a second password. Errors: those of `sendCredentials`. */
  async answerStep(resumeId: string, username: string, answer: string): Promise<LoginStepResult> {
    return this.#readStep(
      await this.#send('POST', REALM_LOGIN_PATH, createBasicAuthorizationHeader(username, answer), { resume_id: resumeId }),
    );
  }

  #send(method: 'GET' | 'POST', path: string, authorization: string, body?: Record<string, string>): Promise<Reply> {
    return this.#transport.send({
      method,
      path: this.#settings.prefix + path,
      authorization,
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  #readStep(reply: Reply): LoginStepResult {
    const { status } = reply;
    if (status < 200 || status > 299 || isHtmlPage(reply)) throw this.#refusal(reply);
    const { api_key: apiKey, resume_id: resumeId } = parseObject(reply);
    if (typeof apiKey === 'string' && apiKey !== '') return { key: new SessionApiKey(apiKey) };
    if (typeof resumeId === 'string' && resumeId !== '') return { resumeId };
    throw new GatewayError(
      'BAD_RESPONSE',
      safeMessage`The appliance accepted the login but gave neither a key nor a further step. Check that the realm allows REST access.`,
      { status },
    );
  }

  /** 400, 401 and 422 refuse the credentials or the realm; 403 may also refuse the account. */
  #refusal(reply: Reply): GatewayError {
    const { status, retryAfter } = reply;
    const applianceWords = quoteAppliance(reply, retryAfter);
    const waitMs = parseRetryAfterMs(retryAfter);
    const details: GatewayErrorDetails = { status, login: true, ...(waitMs !== undefined && { retryAfterMs: waitMs }) };
    const { login, secondFactor, origin, prefix } = this.#settings;
    // No account was refused: nothing of the interface is at this address.
    if (status < 500 && hasWebPagePath(origin + prefix))
      return new GatewayError(
        'NOT_FOUND',
        safeMessage`The login was answered with status ${status}, and the URL has the path of a page (${prefix}). Enter only its beginning: ${origin}.`,
        details,
      );
    const realmHint = trusted(login === 'realm' ? ', the realm' : '');
    const secondFactorHint = trusted(secondFactor === 'none' ? '' : ' and second factor');
    if (status === 403)
      return new GatewayError(
        'FORBIDDEN',
        safeMessage`The appliance forbids this login (403). Check user name, password${secondFactorHint}${realmHint}, that the account may use the REST interface, and that logins from the address of this machine are allowed.${applianceWords}`,
        details,
      );
    if (status === 400 || status === 401 || status === 422)
      return new GatewayError(
        'LOGIN_REJECTED',
        safeMessage`The appliance refused the login (${status}). Check user name, password${secondFactorHint}${realmHint}, and that the account may use the REST interface.${applianceWords}`,
        details,
      );
    if (status === 404) return new GatewayError('NOT_FOUND', this.#loginNotFoundMessage(), details);
    if (status < 400) {
      const what = trusted(status < 300 ? 'a page' : 'a redirect');
      return new GatewayError(
        status < 300 ? 'BAD_RESPONSE' : 'APPLIANCE_ERROR',
        safeMessage`The login was answered with ${what} (${status}) instead of a key. The URL may be wrong, for example that of the user portal. Enter the URL of the administrator interface.`,
        details,
      );
    }
    const why = trusted(status === 429 ? 'It asks for fewer logins' : status < 500 ? 'Check the address' : 'It may be restarting');
    return new GatewayError(
      'APPLIANCE_ERROR',
      safeMessage`The appliance did not carry out the login (status ${status}). ${why}; try again later.`,
      details,
    );
  }

  #loginNotFoundMessage(): SafeMessage {
    if (this.#settings.login === 'legacy')
      return safeMessage`The appliance has no such login (404). Releases from 22.7R2.1 on have only the realm login: choose that.`;
    return safeMessage`The appliance has no such login (404). Check the address, and that the REST interface is on.`;
  }
}

/** Some appliances send a sign-in page with a wrong content type. */
function isHtmlPage({ body }: Reply): boolean {
  return body.text().trimStart().startsWith('<');
}

const MAX_QUOTED_CHARACTERS = 200;
const LOCKED = /\block(?:ed|out)\b|too many/i;

/** Quotes why the appliance refused the login, such as a locked account, and says how long to wait. */
function quoteAppliance(reply: Reply, retryAfter: string | undefined): SafeMessage {
  const words = readRefusalWords(reply);
  if (words === '') return trusted('');
  const waitMs = parseRetryAfterMs(retryAfter);
  const waitHint =
    waitMs !== undefined
      ? safeMessage` Wait ${Math.ceil(waitMs / 1000)} s.`
      : trusted(LOCKED.test(words) ? ' Wait until the lock ends, or unlock the account on the appliance.' : '');
  return safeMessage` The appliance says: "${words}".${waitHint}`;
}

function readRefusalWords(reply: Reply): string {
  if (isHtmlPage(reply)) return '';
  let document: unknown;
  try {
    document = reply.body.json();
  } catch {
    return reply.contentType.startsWith('text/plain') ? shorten(reply.body.text()) : '';
  }
  const result = isObject(document) ? document['result'] : undefined;
  const errors: unknown = isObject(result) ? result['errors'] : undefined;
  const messages = (Array.isArray(errors) ? errors : [document]).map((item: unknown) => (isObject(item) ? item['message'] : undefined));
  return shorten(messages.filter((message) => typeof message === 'string').join(' '));
}

function shorten(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, MAX_QUOTED_CHARACTERS).replace(/\.$/, '');
}

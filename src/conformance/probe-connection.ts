import type { Handshake } from '../http/peer-certificate';
import type { ProbeRunner } from './probe-runner';

const DAY_MS = 86_400_000;
const SOON_DAYS = 30;

/** The TLS handshake: version, cipher, and whether the certificate and its chain hold. Shows no names. */
export function reportHandshake(prober: ProbeRunner, { certificates, cipher, protocol, trusted }: Handshake): void {
  if (protocol === 'TLSv1.2' || protocol === 'TLSv1.3') prober.found('tlsVersion', protocol);
  prober.note(`TLS: ${protocol}, ${cipher}.`);
  if (trusted) prober.note('The TLS certificate is trusted.');
  else
    prober.note('The TLS certificate is not trusted by the settings.', 'Nodes connect only with its certificate or its authority as CA.');
  reportExpiry(prober, Math.floor((Date.parse(certificates[0].validTo) - Date.now()) / DAY_MS));
  const last = certificates.at(-1) ?? certificates[0];
  const hasRoot = last.checkIssued(last);
  if (certificates.length === 1 && hasRoot) prober.note('The certificate is self-signed.');
  else if (hasRoot || trusted) prober.note(`The chain has ${certificates.length} certificates, with those that this machine knows.`);
  else
    prober.note(
      `The chain ends after ${certificates.length === 1 ? 'one certificate' : `${certificates.length} certificates`}, without a root.`,
      'An intermediate certificate may be missing on the appliance.',
    );
}

function reportExpiry(prober: ProbeRunner, days: number): void {
  if (days < 0) prober.note(`The certificate ended ${-days} days ago.`, 'Nodes do not connect.');
  else if (days < SOON_DAYS) prober.note(`The certificate ends in ${days} days.`, 'Nodes do not connect afterward.');
  else prober.note(`The certificate is valid for ${days} more days.`);
}

/** The steps of our own login: the first one, and those that answered a `resume_id`. */
export function reportLoginSteps(prober: ProbeRunner, steps: number): void {
  if (steps === 0) prober.skip('the login', 'the settings have an API key');
  else if (steps === 1) prober.note('The login gives a key at once, without a second factor.');
  else prober.note(`The login gives a key after ${steps} steps, so the realm asks for a second factor.`);
}

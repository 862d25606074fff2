/** An API key as the header that carries it. Whether one is still the present one is a question of identity. */
export class SessionApiKey {
  /** The appliance took it: it has answered a request that carried it. */
  isAccepted = false;
  /** It was refused although it was fresh. */
  rejectedWhenFresh = false;
  readonly authorization: string;

  constructor(readonly apiKey: string) {
    this.authorization = basicAuthorization(apiKey, '');
  }
}

/** The Authorization header of Basic credentials, in UTF-8. */
export function basicAuthorization(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** An API key as the header that carries it. Whether one is still the present one is a question of identity. */
export class Key {
  /** The appliance took it: it has answered a request that carried it. */
  accepted = false;
  /** It was refused although it was fresh. */
  hopeless = false;
  readonly authorization: string;

  constructor(readonly apiKey: string) {
    this.authorization = basic(apiKey, '');
  }
}

/** The Authorization header of Basic credentials, in UTF-8. */
export function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/*
 * What the rules for addresses use of `node:net`, for the browser: there they only check what is typed, and never see a session.
 */

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

export function isIP(text: string): 0 | 4 | 6 {
  if (IPV4.test(text)) return 4;
  return /^[0-9a-f:.]+$/i.test(text) && text.includes(':') && URL.canParse(`http://[${text}]`) ? 6 : 0;
}

export class SocketAddress {
  readonly address: string;

  constructor({ address }: { address: string }) {
    this.address = new URL(`http://[${address}]`).hostname.slice(1, -1);
  }
}

/** A filter that is only read is compared with nothing. */
export class BlockList {
  readonly subnets: string[] = [];

  addSubnet(address: string, bits: number): void {
    this.subnets.push(`${address}/${bits}`);
  }

  check(): boolean {
    return false;
  }
}

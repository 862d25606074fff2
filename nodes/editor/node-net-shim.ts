/** Replaces `node:net` in the browser, where the address rules only check typed values. */

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

/** Stands for the class that matches addresses, which the browser never uses. */
export class BlockList {
  readonly subnets: string[] = [];

  addSubnet(address: string, bits: number): void {
    this.subnets.push(`${address}/${bits}`);
  }

  check(): boolean {
    return false;
  }
}

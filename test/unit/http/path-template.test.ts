import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { operations } from '../../../src/areas';
import { toPathTemplate } from '../../../src/http/path-template';

/** Every address that stands in the areas' source, with a name wherever one is put in. */
function written(): string[] {
  const folder = join(__dirname, '../../../src/areas');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const found = files.flatMap((file) => readFileSync(join(folder, file), 'utf8').match(/\/api\/v1\/[^\s'`?"]*/g) ?? []);
  return [...new Set(found.map((path) => path.replace(/\$\{[^}]*\}/g, 'NAME')))];
}

const ADDRESSES = written();

describe('toPathTemplate', () => {
  it('the path template test finds more than 25 request paths in the sources', () => {
    expect(ADDRESSES.length).toBeGreaterThan(25);
  });

  it.each(ADDRESSES)('the path template of %s keeps every word and masks names', (path) => {
    // Of the examples of paths that anybody may enter the names are not told apart here.
    if (/%|<|\$|Staff|j\.doe|sid1|00:5e/.test(path)) return;
    expect(toPathTemplate(path, '')).toBe(path.replaceAll('A%20Name-enforcer', '*').replaceAll('NAME', '*'));
  });

  it.each([...operations])('the path template masks the names in the example of %s', (_name, { example }) => {
    const shown = toPathTemplate(example.request.split(' ')[1] ?? '', '');
    expect(shown).not.toMatch(/%|j\.doe|Staff|Contractors|sid1|csr-|client-1|member-|00:5e/);
  });

  it.each([
    ['/api/v1/system/active-users?name=j.doe&number=200&start=0', '/api/v1/system/active-users?name=*&number=200&start=0'],
    ['/api/v1/system/active-users?all', '/api/v1/system/active-users?all'],
    ['/api/v1/system/active-users/session/sid12', '/api/v1/system/active-users/session/*'],
    // A name may read like a word.
    [
      '/api/v1/configuration/authentication/auth-servers/auth-server/local/local/users/user/user',
      '/api/v1/configuration/authentication/auth-servers/auth-server/*/local/users/user/*',
    ],
    ['/api/v1/configuration/j.doe/secret?token=abc&expand', '/api/v1/configuration/*/*?*&expand'],
    ['/api/v1/system/binary-configuration?export=system_config&password=x', '/api/v1/system/binary-configuration?export=system_config&*'],
    ['/api/v1/system/active-users?number=12345678901&status=all', '/api/v1/system/active-users?number=*&status=all'],
    ['/gw/one/api/v1/cluster', '/api/v1/cluster'],
    ['', ''],
    ['?number=20', '?number=20'],
    // Nobody writes an address like this, but whoever pastes one may.
    ['/api/v1/cluster?&expand&&name=a=b&number=1=2&', '/api/v1/cluster?&expand&&name=*&number=*&'],
  ])('the masked template of the request path %s is %s', (path, shown) => {
    expect(toPathTemplate(path, '/gw/one')).toBe(shown);
  });

  it('the path template of a very long path is short', () => {
    expect(toPathTemplate('/a'.repeat(100_000) + '?' + '&a=b'.repeat(100_000), '').length).toBeLessThan(500);
  });
});

// @ts-check
// Which tests a file is measured with: of the quick half those that are about it. More of them would take longer, not judge better: what
// only a distant test notices, nobody finds by it.

/** The first that fits counts. @type {[RegExp, string][]} */
const TESTS = [
  [/^model\/(?:redaction|secrets|secrets-of-settings|search|unescaped|sentence|shown-settings)\./, 'redactor secret-names sentences'],
  [/^model\/(?:path|path-template)\.|^http\/path-template\./, 'path path-template request'],
  [/^model\/(?:input|field|operation)\./, 'input operations rules'],
  [/^model\/rules\./, 'rules permissions'],
  [/^model\/settings|^model\/setting-kinds/, 'settings'],
  [/^model\/(?:coordination|process-coordination|cancelling|in-parallel)\./, 'coordination ceilings run'],
  [/^model\/(?:summary|summary-words)\./, 'summary'],
  [/^model\/(?:counters)\./, 'metrics'],
  [/^model\/(?:totp|served)\./, 'second-factor served'],
  [/^model\//, 'run input json-bytes summary'],
  [/^http\/(?:connections|turns)\./, 'connections-bounds'],
  [/^http\/(?:pace|budget|shared-pool)\./, 'ceilings'],
  [/^http\/(?:pool|faults)\./, 'tls proxy faults'],
  [/^http\/history\./, 'observing'],
  [/^http\/json-bytes\./, 'json-bytes'],
  [/^http\/body\./, 'body'],
  [/^http\//, 'answers body faults replies tls'],
  [/^login\/back-off\./, 'back-off'],
  [/^login\/(?:account|account-state|login-under-way)\./, 'back-off login-pauses'],
  [/^login\/one-time-codes\./, 'second-factor'],
  [/^login\//, 'login login-answers login-shared dead-key second-factor'],
  [/^run\/pin\./, 'pin'],
  [/^run\/(?:approval|approvals)\./, 'approvals'],
  [/^run\/(?:permissions)\./, 'permissions'],
  [/^run\/(?:reply|any-answer)\./, 'replies answers'],
  [/^run\//, 'run replies summary sessions'],
  [/^change\/overlay\./, 'overlay'],
  [/^change\/(?:compare|entries)\./, 'compare'],
  [/^change\/lock-out\./, 'lock-out'],
  [/^change\//, 'ensure compare undo'],
  [/^journal\//, 'journal journal-writes undo'],
  [/^snapshot\/(?:names|place|ignore)\./, 'snapshot-names'],
  [/^snapshot\//, 'snapshot snapshot-folder snapshot-compare snapshot-revert'],
  [/^backup\//, 'backup backup-folder backup-trust backup-faults backup-restore'],
  [/^transfer\/(?:base64|content|malformed|xml.*|zip|checked-content)\./, 'transfer-content'],
  [/^transfer\//, 'transfer transfer-file transfer-content'],
  [/^contain\/|^areas\/contain\//, 'contain'],
  [/^areas\/groups\/|^areas\/catalogue\./, 'groups catalogue'],
  [/^areas\/sessions\/filter\./, 'sessions-filter'],
  [/^areas\/sessions\/(?:addresses|patterns)\./, 'sessions-filter sessions-own'],
  [/^areas\/sessions\//, 'sessions sessions-list sessions-seen sessions-own sessions-filter'],
  [/^areas\/users\//, 'users'],
  [/^areas\/certificates\//, 'certificates prove served'],
  [/^areas\/(?:support|metrics|exposition)/, 'metrics observing'],
  [/^areas\/system|^areas\/health/, 'system'],
  [/^areas\/journal\./, 'journal undo'],
  [/^areas\/backup\./, 'backup backup-restore'],
  [/^areas\/snapshot\./, 'snapshot snapshot-revert'],
  [/^areas\/transfer\./, 'transfer'],
  [/^areas\/request\./, 'request'],
  [/^areas\/config\./, 'config ensure'],
  [/^areas\/vendor\./, 'words'],
  [/^areas\//, 'operations coverage administration'],
  [/^inventory\//, 'inventory run-many'],
  [/^watch\//, 'watch watch-configuration'],
  [/^gateway/, 'run settings input'],
];

/** @param {string} file below the root */
export function testsOf(file) {
  const path = file.replace(/^src\//, '');
  const [, names = 'run'] = TESTS.find(([what]) => what.test(path)) ?? [];
  return names.split(' ').map((name) => `test/${name}.test.ts`);
}

// @ts-check

/** The core `http request` node with its best settings and a fixed key. @param {string} authorization */
export function coreRequest(authorization) {
  return {
    type: 'http request',
    method: 'GET',
    ret: 'obj',
    paytoqs: 'ignore',
    url: '',
    tls: 'tls',
    persist: true,
    proxy: '',
    insecureHTTPParser: false,
    authType: '',
    senderr: true,
    headers: [{ keyType: 'other', keyValue: 'authorization', valueType: 'other', valueValue: authorization }],
  };
}

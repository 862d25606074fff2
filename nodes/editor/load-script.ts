const scripts = new Map<string, Promise<void>>();

/** Loads a script of this package once; the script defines a global variable. Rejects with the status, and tries again at the next call. */
export function loadScript(name: string): Promise<void> {
  let script = scripts.get(name);
  if (!script) {
    script = new Promise((resolve, reject) => {
      $.ajax({ url: `gateway-appliance/${name}.js`, dataType: 'script', cache: true })
        .done(() => resolve())
        .fail(({ status }) => {
          scripts.delete(name);
          reject(new Error(String(status)));
        });
    });
    scripts.set(name, script);
  }
  return script;
}

/** Whether a script is loaded or is being loaded. */
export const isScriptRequested = (name: string): boolean => scripts.has(name);

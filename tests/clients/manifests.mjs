// Checks Kubernetes manifests against the schemas of Kubernetes. Usage: node manifests.mjs FILE ...
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";

for (const file of process.argv.slice(2)) {
  for (const document of parseAllDocuments(readFileSync(file, "utf8"))) {
    if (document.errors.length > 0) throw document.errors[0];
    const manifest = document.toJS();
    const kinds = await import(`kubernetes-models/${manifest.apiVersion}`);
    new kinds[manifest.kind](manifest).validate();
    console.log(`${manifest.kind} ${manifest.metadata.name} is valid`);
  }
}

import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { parse } from "yaml";

const deploy = new URL("../../deploy/", import.meta.url);
const read = (path: string) => parse(readFileSync(new URL(path, deploy), "utf8"));
const compose = read("compose.observability.yaml");

it("compose mounts existing files, and publishes on loopback only", () => {
  for (const { volumes, ports } of Object.values<{ volumes: string[]; ports: string[] }>(compose.services)) {
    const sources = volumes.map((volume) => volume.split(":")[0]!);
    for (const source of sources) {
      if (source.startsWith("./")) expect(existsSync(new URL(source, deploy))).toBe(true);
      else expect(compose.volumes).toHaveProperty(source);
    }
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
});

it("Prometheus and Grafana read the files that compose mounts", () => {
  const { rule_files, scrape_configs } = read("prometheus/prometheus.yml");
  const { prometheus, grafana } = compose.services;
  const mounted = (service: { volumes: string[] }) => service.volumes.map((volume) => volume.split(":")[1]!);
  for (const file of rule_files) expect(mounted(prometheus)).toContain(`/etc/prometheus/${file}`);
  expect(prometheus.secrets[0].target).toBe(scrape_configs[0].authorization.credentials_file);
  const [provider] = read("grafana/provisioning/dashboards/nightshift.yml").providers;
  expect(mounted(grafana)).toContain(`${provider.options.path}/nightshift.json`);
  const [source] = read("grafana/provisioning/datasources/prometheus.yml").datasources;
  expect(source.url).toBe("http://prometheus:9090");
});

import { isIPv4, isIPv6 } from "node:net";
import { Ajv2020 } from "ajv/dist/2020.js";

const DATE = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[-+]([01]\d|2[0-3]):[0-5]\d)$/;
const HOST = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/** The formats of JSON Schema 2020-12, 7.3, written independently from the RFCs that it cites, or checked by Node. */
const FORMAT_CHECKS: Record<string, RegExp | ((text: string) => boolean)> = {
  date: isDate,
  time: TIME,
  "date-time": (text) => isDate(text.slice(0, 10)) && /[Tt]/.test(text[10] ?? "") && TIME.test(text.slice(11)),
  duration: isDuration,
  email: isEmail,
  hostname: HOST,
  ipv4: isIPv4,
  ipv6: isIPv6,
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  // Without whitespace and other characters that the parser of URLs replaces.
  uri: (text) => /^[\x21-\x7e]+$/.test(text) && !/[<>"{}|\\^`]|%(?![0-9a-f]{2})/i.test(text) && URL.canParse(text),
};

const ajv = new Ajv2020({ strict: false, formats: FORMAT_CHECKS, multipleOfPrecision: 9 });

/** RFC 3339, appendix A: units without a gap between them. */
function isDuration(text: string): boolean {
  const units = /^P(?=.)(\d+W|((?:\d+[YMD])*)(?:T((?:\d+[HMS])+))?)$/.exec(text);
  const inOrder = (part: string, all: string) => all.includes(part.replace(/\d/g, ""));
  return units !== null && inOrder(units[2] ?? "", "YMD") && inOrder(units[3] ?? "", "HMS");
}

/** A dot-string before the last `@`, and a name or an address after it. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const [name, domain] = [text.slice(0, at), text.slice(at + 1)];
  if (!/^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*$/.test(name) || name.length > 64) return false;
  if (!domain.startsWith("[")) return HOST.test(domain);
  const address = domain.slice(1, -1);
  return domain.endsWith("]") && (isIPv4(address) || (address.startsWith("IPv6:") && isIPv6(address.slice(5))));
}

/** True for a day of the calendar: Date turns other days into later ones. */
function isDate(text: string): boolean {
  return DATE.test(text) && new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
}

/**
 * Validates values by ajv, which shares no code with the conversion of schemas to grammars.
 * @returns null for a valid value, else the errors; throws if ajv refuses the schema
 */
export function schemaCheck(schema: Record<string, unknown>): (value: unknown) => string | null {
  const validate = ajv.compile(schema);
  return (value) => (validate(value) ? null : ajv.errorsText(validate.errors));
}

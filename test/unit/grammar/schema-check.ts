import { isIPv4, isIPv6 } from "node:net";
import { Ajv2020 } from "ajv/dist/2020.js";

const DATE = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
const TIME = /^([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[-+]([01]\d|2[0-3]):[0-5]\d)$/;
const HOST = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/** The formats of JSON Schema 2020-12, 7.3, written independently from the RFCs that it cites, or checked by Node. */
const FORMAT_CHECKS: Record<string, RegExp | ((text: string) => boolean)> = {
  date: isDate,
  time: TIME,
  "date-time": (text) => isDate(text.slice(0, 10)) && text[10] === "T" && TIME.test(text.slice(11)),
  duration: /^P(?=.)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?)$/,
  email: (text) => /^[^@\s]+@[^@]+$/.test(text) && HOST.test(text.slice(text.indexOf("@") + 1)),
  hostname: HOST,
  ipv4: isIPv4,
  ipv6: isIPv6,
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  uri: (text) => URL.canParse(text),
};

const ajv = new Ajv2020({ strict: false, formats: FORMAT_CHECKS });

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

type Attributes = Record<string, string | number>;

/** Numbers with at most two decimals: a hundredth of a pixel is not visible. */
function attribute(value: string | number): string {
  return typeof value === "number" ? String(Number(value.toFixed(2))) : escapeXml(value);
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** An element whose children are markup. */
export function element(name: string, attributes: Attributes, children: string[] = []): string {
  const opening = [name, ...Object.entries(attributes).map(([key, value]) => `${key}="${attribute(value)}"`)].join(" ");
  return children.length === 0 ? `<${opening}/>` : `<${opening}>${children.join("")}</${name}>`;
}

export function text(content: string, attributes: Attributes): string {
  return element("text", attributes, [escapeXml(content)]);
}

/**
 * Colours by series: first this server, then peers; a common bound is grey. They are from the Okabe and Ito palette,
 * which colour-blind readers can distinguish, and lighter on a dark page.
 */
const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #57606a }
  .title { font-weight: 600; font-size: 14px; fill: #24292f }
  .value { fill: #24292f }
  .axis { stroke: #8c959f; stroke-opacity: .45 }
  .range { stroke: #57606a; stroke-width: 1.5 }
  .s0 { color: #0072b2 } .s1 { color: #d55e00 } .s2 { color: #009e73 } .s3 { color: #cc79a7 } .s4 { color: #8c959f }
  .fill { fill: currentColor }
  .pale { fill: currentColor; fill-opacity: .4 }
  .line { stroke: currentColor; fill: none; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #9198a1 }
    .title, .value { fill: #f0f6fc }
    .range { stroke: #9198a1 }
    .s0 { color: #56b4e9 } .s1 { color: #f0883e } .s2 { color: #3fb98f } .s3 { color: #e0a0c4 }
  }`;

/** The colour of a bound, the last one. */
export const BOUND_SERIES = 4;

/** A complete drawing on a transparent background. */
export function drawing(width: number, height: number, label: string, children: string[]): string {
  const attributes = { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height };
  const head = [element("title", {}, [escapeXml(label)]), element("style", {}, [STYLE])];
  return `${element("svg", { ...attributes, role: "img" }, [...head, ...children.map((child) => `\n${child}`)])}\n`;
}

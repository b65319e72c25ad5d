// Builds and updates the page. Texts from outside become text nodes, never markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Sets what a property list says: on* are listeners, the rest attributes; false and null remove.
 * @param {Element} node
 * @param {Record<string, any>} props
 */
export function set(node, props) {
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === false || value == null) node.removeAttribute(name);
    else {
      const text = value === true ? "" : String(value);
      if (node.getAttribute(name) !== text) node.setAttribute(name, text);
    }
  }
}

/**
 * An element with attributes and children.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  return built(document.createElement(tag), props, children.flat());
}

/**
 * The same in a drawing.
 * @param {string} tag
 * @param {Record<string, any>} [props]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, props = {}, ...children) {
  return built(document.createElementNS(SVG, tag), props, children);
}

/**
 * @template {Element} T
 * @param {T} node
 * @param {Record<string, any>} props
 * @param {Child[]} children
 */
function built(node, props, children) {
  set(node, props);
  node.append(...shown(children));
  return node;
}

/** Nodes, and texts, which become text nodes. @param {Child[]} children */
function shown(children) {
  return children.filter((one) => one || one === 0)
    .map((one) => (one instanceof Node ? one : String(one)));
}

/**
 * Puts a text into an element, if it is another than before: what does not change does not flicker.
 * @param {Element} node
 * @param {string | number} text
 */
export function say(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

/**
 * Brings the children of a list in step with its items. Each item keeps its element, so that focus,
 * selection and scrolling stay with it.
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => Element & {update?: (item: T) => void}} make
 */
export function keyed(parent, items, key, make) {
  /** @type {Map<string, any>} */
  const known = new Map([...parent.children].map((/** @type {any} */ node) => [node.knellKey, node]));
  const wanted = new Set(items.map(key));
  for (const [name, node] of known) if (!wanted.has(name)) node.remove();
  // An element that is moved loses the focus: so only those are moved that must be.
  /** @type {Element | null | undefined} */
  let at = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let node = known.get(name);
    if (!node) {
      node = make(item);
      node.knellKey = name;
    }
    node.update?.(item);
    if (node === at) at = at?.nextElementSibling;
    else if (node === at?.nextElementSibling) at = node.nextElementSibling; // the one before moves
    else parent.insertBefore(node, at ?? null);
  }
}

/**
 * Replaces the children, unless a signature says that they are the same as before.
 * @param {any} node
 * @param {unknown} signature
 * @param {() => Child[]} make
 */
export function fill(node, signature, make) {
  const text = JSON.stringify(signature);
  if (node.knellSignature === text) return;
  node.knellSignature = text;
  node.replaceChildren(...shown(make()));
}

/** Terms and what each says; what says nothing is left out. @param {[string, any][]} pairs */
export function factList(pairs) {
  return h("dl", {}, pairs.filter(([, text]) => text)
    .flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]));
}

/**
 * A command, and a button that copies it and says that it did. Where the browser does not allow
 * that, the command is selected instead.
 * @param {string} text
 */
export function command(text) {
  const code = h("code", { tabindex: 0 }, text);
  const button = h("button", { class: "copy", type: "button", title: `Copy: ${text}`,
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        say(button, "Copied");
      } catch {
        getSelection()?.selectAllChildren(code);
        say(button, "Selected");
      }
      setTimeout(() => say(button, "Copy"), 1500);
    } }, "Copy");
  return h("div", { class: "command" }, code, button);
}

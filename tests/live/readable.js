// What a reader who cannot see well, or has a small screen, would object to in a page; each should be empty.
(() => {
  const seen = each => { const style = getComputedStyle(each); return style.display !== 'none' && each.getClientRects().length; };
  const named = each => each.labels?.length || each.getAttribute('aria-label') || each.type === 'hidden';
  const levels = [...document.querySelectorAll('h1, h2, h3, h4')].map(each => Number(each.tagName[1]));
  const channel = c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const parse = text => text.match(/[\d.]+/g).map(Number);
  const ground = each => { for (; each; each = each.parentElement) {
    const found = parse(getComputedStyle(each).backgroundColor); if (found.length < 4 || found[3] > 0.99) return found; } return [255, 255, 255]; };
  const contrast = each => { const [a, b] = [light(parse(getComputedStyle(each).color)), light(ground(each))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05); };
  const texts = [...document.querySelectorAll('p, li, td, th, dt, dd, h1, h2, h3, h4, a, label, legend, button, span, summary, figcaption, code, strong')]
    .filter(each => seen(each) && each.innerText?.trim());
  const ids = [...document.querySelectorAll('[id]')].map(each => each.id);
  return {
    width: document.documentElement.scrollWidth,
    unnamed: [...document.querySelectorAll('input, select, textarea')].filter(each => !named(each)).map(each => each.name),
    jumps: levels.filter((level, n) => n > 0 && level > levels[n - 1] + 1).length + (levels[0] === 1 ? 0 : 1),
    faint: texts.filter(each => contrast(each) < 4.5).map(each => each.className + ':' + each.innerText.slice(0, 40)),
    small: texts.filter(each => parseFloat(getComputedStyle(each).fontSize) < 12).map(each => each.innerText.slice(0, 40)),
    headless: [...document.querySelectorAll('table')].filter(each => !each.querySelector('th[scope]') || !(each.caption || each.getAttribute('aria-labelledby'))).length,
    untitled: [...document.querySelectorAll('svg[role=img]')].filter(each => !each.querySelector('title')?.textContent).length,
    loud: [...document.querySelectorAll('svg:not([role=img]):not([aria-hidden])')].filter(each => !each.closest('[role=img]')).length,
    twice: ids.length - new Set(ids).size,
    lost: [...document.querySelectorAll('[aria-labelledby], [aria-describedby]')].filter(each => !document.getElementById(
      each.getAttribute('aria-labelledby') ?? each.getAttribute('aria-describedby'))).length,
    stuck: [...document.querySelectorAll('*')].filter(box => box.scrollWidth > box.clientWidth + 1
      && ['auto', 'scroll'].includes(getComputedStyle(box).overflowX) && box.tabIndex < 0).length,
  };
})()

// A map of regions on a canvas: panned as a picture, drawn anew when it comes to rest.

import { el } from "./dom.js";

const AROUND = 0.5; // of the width and height: drawn beyond each side, so that panning has something to show
const MOST_ZOOM = 60;

/** The regions of a GeoJSON collection as paths in one plane; north is up. */
export function outlines({ features }) {
  const rings = features.flatMap(({ geometry }) => (geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates).flat());
  const bounds = { left: Infinity, right: -Infinity, low: Infinity, high: -Infinity };
  for (const ring of rings) {
    for (const [x, y] of ring) {
      if (x < bounds.left) bounds.left = x;
      if (x > bounds.right) bounds.right = x;
      if (y < bounds.low) bounds.low = y;
      if (y > bounds.high) bounds.high = y;
    }
  }
  const isGlobe = bounds.left >= -180 && bounds.right <= 360 && bounds.low >= -90 && bounds.high <= 90;
  const squeeze = isGlobe ? Math.cos(((bounds.low + bounds.high) / 2) * (Math.PI / 180)) : 1; // degrees of longitude are shorter up north
  const at = ([x, y]) => [(x - bounds.left) * squeeze, bounds.high - y];
  const regions = features.map(({ properties, geometry }) => {
    const path = new Path2D();
    const own = { label: properties.label, path, left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity, middle: null };
    let widest = 0;
    for (const polygon of geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates) {
      polygon.forEach((ring, hole) => {
        const points = ring.map(at);
        points.forEach(([x, y], i) => {
          if (i) path.lineTo(x, y);
          else path.moveTo(x, y);
          own.left = Math.min(own.left, x);
          own.right = Math.max(own.right, x);
          own.top = Math.min(own.top, y);
          own.bottom = Math.max(own.bottom, y);
        });
        path.closePath();
        const [area, middle] = centre(points);
        if (!hole && area >= widest) [widest, own.middle] = [area, middle];
      });
    }
    return own;
  });
  return { regions, width: (bounds.right - bounds.left) * squeeze || 1, height: bounds.high - bounds.low || 1 };
}

/** The area inside a ring and its centre. */
function centre(points) {
  let [area, x, y] = [0, 0, 0];
  points.forEach(([a, b], i) => {
    const [c, d] = points[(i + 1) % points.length];
    const turn = a * d - c * b;
    area += turn / 2;
    x += (a + c) * turn;
    y += (b + d) * turn;
  });
  return area ? [Math.abs(area), [x / (6 * area), y / (6 * area)]] : [0, points[0]];
}

/** Whether a point lies inside a ring. */
export function inside([x, y], ring) {
  let found = false;
  for (let i = 0, j = ring.length - 1; i < ring.length; j = i, i += 1) {
    const [[a, b], [c, d]] = [ring[i], ring[j]];
    if (b > y !== d > y && x < ((c - a) * (y - b)) / (d - b) + a) found = !found;
  }
  return found;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function hatching(pen) {
  const tile = el("canvas", { width: 8, height: 8 });
  const stroke = tile.getContext("2d");
  stroke.strokeStyle = colour("text");
  stroke.globalAlpha = 0.45;
  stroke.lineWidth = 1;
  stroke.beginPath();
  for (const shift of [-8, 0, 8]) {
    stroke.moveTo(shift, 8);
    stroke.lineTo(shift + 8, 0);
  }
  stroke.stroke();
  return pen.createPattern(tile, "repeat");
}

/**
 * A canvas that shows regions. `told` gives of a label {share, unsure, colour}: how dark it is from 0 to 1, whether it
 * is hatched, and the colour of its rim if it was chosen. `picked(region)` hears a click, `drawn(regions)` an outline.
 */
export function regionMap(world, told, { picked, drawn, hovered }) {
  const canvas = el("canvas", { class: "map", tabindex: "0", role: "img" });
  const pen = canvas.getContext("2d");
  const kept = document.createElement("canvas"); // the map as it was last drawn, with what lies around it
  const keeper = kept.getContext("2d");
  const view = { x: 0, y: 0, scale: 1 };
  let at = null; // the view that is kept
  let isOutlining = false;
  let outline = [];
  let least = 1;
  let due = 0;

  const size = () => [canvas.width, canvas.height];
  const fit = () => {
    least = 0.96 * Math.min(canvas.width / world.width, canvas.height / world.height);
    Object.assign(view, { scale: least, x: (canvas.width - least * world.width) / 2, y: (canvas.height - least * world.height) / 2 });
  };

  /** Draws the regions anew, with some around what is seen. */
  function keep() {
    const [wide, tall] = size();
    const [dx, dy] = [Math.round(AROUND * wide), Math.round(AROUND * tall)];
    if (kept.width !== wide + 2 * dx || kept.height !== tall + 2 * dy) [kept.width, kept.height] = [wide + 2 * dx, tall + 2 * dy];
    keeper.setTransform(1, 0, 0, 1, 0, 0);
    keeper.clearRect(0, 0, kept.width, kept.height);
    keeper.setTransform(view.scale, 0, 0, view.scale, view.x + dx, view.y + dy);
    const hatched = hatching(keeper);
    hatched.setTransform(new DOMMatrix().scale(1 / view.scale));
    const [left, top] = [(-view.x - dx) / view.scale, (-view.y - dy) / view.scale];
    const [right, bottom] = [left + kept.width / view.scale, top + kept.height / view.scale];
    const [fill, none, line] = [colour("blue"), colour("card"), colour("edge")];
    let number = 0;
    for (const region of world.regions) {
      if (region.right < left || region.left > right || region.bottom < top || region.top > bottom) continue;
      const { share, unsure } = told(region.label);
      keeper.globalAlpha = 1;
      keeper.fillStyle = none;
      keeper.fill(region.path, "evenodd");
      keeper.globalAlpha = share;
      keeper.fillStyle = fill;
      keeper.fill(region.path, "evenodd");
      keeper.globalAlpha = 1;
      if (unsure) {
        keeper.fillStyle = hatched;
        keeper.fill(region.path, "evenodd");
        number += 1;
      }
      keeper.lineWidth = 0.6 / view.scale;
      keeper.strokeStyle = line;
      keeper.stroke(region.path);
    }
    for (const region of world.regions) {
      const { colour: rim } = told(region.label);
      if (!rim) continue;
      keeper.lineWidth = (rim === "orange" ? 1 : 3) / view.scale; // many are outlined, few are compared
      keeper.strokeStyle = colour(rim);
      keeper.stroke(region.path);
    }
    canvas.dataset.hatched = String(number);
    at = { ...view, dx, dy };
  }

  /** Shows what is kept where the view now is; draws it anew if it no longer covers what is seen. */
  function show() {
    due = 0;
    const [wide, tall] = size();
    if (!wide) return;
    const [x, y] = at ? [view.x - at.x, view.y - at.y] : [0, 0];
    if (!at || at.scale !== view.scale || Math.abs(x) > at.dx || Math.abs(y) > at.dy) {
      keep();
      return show();
    }
    pen.clearRect(0, 0, wide, tall);
    pen.drawImage(kept, x - at.dx, y - at.dy);
    if (outline.length > 1) {
      pen.beginPath();
      outline.forEach(([a, b], i) => (i ? pen.lineTo(a, b) : pen.moveTo(a, b)));
      pen.closePath();
      pen.lineWidth = 2;
      pen.strokeStyle = colour("orange");
      pen.setLineDash([6, 4]);
      pen.stroke();
      pen.setLineDash([]);
    }
    return undefined;
  }

  const soon = () => (due ||= requestAnimationFrame(show));
  const anew = () => {
    at = null;
    soon();
  };
  const place = (event) => {
    const corner = canvas.getBoundingClientRect();
    return [event.clientX - corner.left, event.clientY - corner.top];
  };
  const inWorld = ([x, y]) => [(x - view.x) / view.scale, (y - view.y) / view.scale];
  function regionAt(point) {
    const [x, y] = inWorld(point);
    keeper.setTransform(1, 0, 0, 1, 0, 0);
    return world.regions.findLast((region) => x >= region.left && x <= region.right && y >= region.top && y <= region.bottom && keeper.isPointInPath(region.path, x, y, "evenodd"));
  }

  function zoom(times, [x, y] = [canvas.width / 2, canvas.height / 2]) {
    const scale = Math.max(least, Math.min(least * MOST_ZOOM, view.scale * times));
    const change = scale / view.scale;
    Object.assign(view, { scale, x: x - (x - view.x) * change, y: y - (y - view.y) * change });
    soon();
  }

  function pan(dx, dy) {
    view.x += dx;
    view.y += dy;
    soon();
  }

  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    from = { start: place(event), last: place(event), moved: false };
    if (isOutlining) outline = [place(event)];
    else measureFrames();
  });
  canvas.addEventListener("pointermove", (event) => {
    const point = place(event);
    if (!from) return hovered(regionAt(point) ?? null, point);
    from.moved ||= Math.hypot(point[0] - from.start[0], point[1] - from.start[1]) > 4;
    if (isOutlining) {
      outline.push(point);
      return soon();
    }
    if (from.moved) pan(point[0] - from.last[0], point[1] - from.last[1]);
    from.last = point;
    return undefined;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!from) return;
    const { moved } = from;
    from = null;
    if (isOutlining && outline.length > 2) {
      const ring = outline.map(inWorld);
      drawn(world.regions.filter((region) => inside(region.middle, ring)));
    } else if (!moved) {
      const found = regionAt(place(event));
      if (found) picked(found);
    } else anew(); // at rest: with as much around it on every side
  });
  canvas.addEventListener("pointercancel", () => (from = null));
  canvas.addEventListener("pointerleave", () => hovered(null));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.25 : 0.8, place(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (moves[event.key]) pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else return;
    event.preventDefault();
  });

  /** Counts the frames that are shown while the map is panned, and keeps their rate for who asks. */
  function measureFrames() {
    const begun = performance.now();
    let frames = -1;
    const each = () => {
      frames += 1;
      const seconds = (performance.now() - begun) / 1000;
      if (from) requestAnimationFrame(each);
      else if (seconds > 0.2) canvas.dataset.framesPerSecond = (frames / seconds).toFixed(1);
    };
    requestAnimationFrame(each);
  }

  return {
    canvas,
    zoom,
    whole() {
      fit();
      anew();
    },
    /** Takes the size that its place gives it. */
    resize(wide, tall) {
      if (canvas.width === wide && canvas.height === tall && at) return anew();
      [canvas.width, canvas.height] = [wide, tall];
      fit();
      return anew();
    },
    outlining(on) {
      isOutlining = on;
      outline = [];
      canvas.classList.toggle("outlining", on);
      soon();
    },
    /** Where a region lies on the canvas. */
    placeOf: (label) => {
      const { middle } = world.regions.find((region) => region.label === label);
      return [middle[0] * view.scale + view.x, middle[1] * view.scale + view.y];
    },
  };
}

// Runs the steps that network.py writes: pictures and codes as float32, channels first, one at a time.
//
// All numbers live in one memory, laid out when the network is built. Matrix products, where the time goes, run in
// WebAssembly (matmul.wat) where its vector instructions exist, else in the JavaScript below. No page is needed: this
// file also runs in a worker and in Node.
"use strict";

const roundUp = (count, multiple) => Math.ceil(count / multiple) * multiple;
const product = (shape) => shape.reduce((a, b) => a * b, 1);

function bytesOf(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Half precision (as uint16) to float32. */
function halfToFloat(halves, out) {
  const bits = new Uint32Array(out.buffer, out.byteOffset, out.length);
  for (let i = 0; i < halves.length; i++) {
    const half = halves[i], sign = (half & 0x8000) << 16, exponent = (half >> 10) & 31, fraction = half & 1023;
    if (exponent) bits[i] = sign | ((exponent + 112) << 23) | (fraction << 13);
    else out[i] = (sign ? -1 : 1) * fraction * 2 ** -24;
  }
  return out;
}

/** An array of a packed network as float32, or its indices as they are. */
function arrayOf(bytes, [kind, offset, length]) {
  if (kind === "u2") return new Uint16Array(bytes.buffer, bytes.byteOffset + offset, length);
  if (kind === "u4") return new Uint32Array(bytes.buffer, bytes.byteOffset + offset, length);
  if (kind === "f4") return new Float32Array(bytes.buffer, bytes.byteOffset + offset, length);
  return halfToFloat(new Uint16Array(bytes.buffer, bytes.byteOffset + offset, length), new Float32Array(length));
}

/** The error function to 1.5e-7 (Abramowitz & Stegun 7.1.26), for GELU. */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const poly = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  return Math.sign(x) * (1 - poly * Math.exp(-x * x));
}

const ACTIVATIONS = {
  relu: () => (x) => (x > 0 ? x : 0),
  leaky: ({ slope }) => (x) => (x > 0 ? x : slope * x),
  tanh: () => Math.tanh,
  sigmoid: () => (x) => 1 / (1 + Math.exp(-x)),
  elu: ({ alpha = 1, scale = 1, input_scale = 1 }) => (x) => scale * (x > 0 ? x : alpha * Math.expm1(x * input_scale)),
  silu: () => (x) => x / (1 + Math.exp(-x)),
  gelu: ({ approximate }) => approximate === "tanh"
    ? (x) => 0.5 * x * (1 + Math.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
    : (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  softplus: ({ beta = 1 }) => (x) => (beta * x > 20 ? x : Math.log1p(Math.exp(beta * x)) / beta),
  clamp: ({ low = -Infinity, high = Infinity }) => (x) => (x < low ? low : x > high ? high : x),
  exp: () => Math.exp,
  abs: () => Math.abs,
  hardsigmoid: () => (x) => Math.min(Math.max(x / 6 + 0.5, 0), 1),
  hardswish: () => (x) => x * Math.min(Math.max(x / 6 + 0.5, 0), 1),
};

/** The products of matmul.wat in plain JavaScript; addresses in bytes, as there. */
function plainProducts(floats) {
  return {
    matmul(a, b, c, bias, rows, inner, columns) {
      a >>= 2; b >>= 2; c >>= 2; bias >>= 2;
      for (let j = 0; j < columns; j += 4) {
        for (let i = 0; i < rows; i += 2) {
          let s00 = floats[bias + i], s01 = s00, s02 = s00, s03 = s00;
          let s10 = floats[bias + i + 1], s11 = s10, s12 = s10, s13 = s10;
          let first = a + i * inner, second = first + inner, at = b + j;
          for (let k = 0; k < inner; k++, first++, second++, at += columns) {
            const u = floats[first], v = floats[second];
            const b0 = floats[at], b1 = floats[at + 1], b2 = floats[at + 2], b3 = floats[at + 3];
            s00 += u * b0; s01 += u * b1; s02 += u * b2; s03 += u * b3;
            s10 += v * b0; s11 += v * b1; s12 += v * b2; s13 += v * b3;
          }
          let out = c + i * columns + j;
          floats[out] = s00; floats[out + 1] = s01; floats[out + 2] = s02; floats[out + 3] = s03;
          out += columns;
          floats[out] = s10; floats[out + 1] = s11; floats[out + 2] = s12; floats[out + 3] = s13;
        }
      }
    },
    matvec(a, x, y, bias, rows, inner) {
      a >>= 2; x >>= 2; y >>= 2; bias >>= 2;
      for (let i = 0; i < rows; i++) {
        let s0 = floats[bias + i], s1 = 0, s2 = 0, s3 = 0;
        for (let k = 0; k < inner; k += 4, a += 4) {
          s0 += floats[a] * floats[x + k]; s1 += floats[a + 1] * floats[x + k + 1];
          s2 += floats[a + 2] * floats[x + k + 2]; s3 += floats[a + 3] * floats[x + k + 3];
        }
        floats[y + i] = s0 + s1 + s2 + s3;
      }
    },
  };
}

class Network {
  /** `packed` as network.py writes it; `wasm` the bytes of matmul.wasm, or null for JavaScript alone. */
  constructor(packed, wasm = null) {
    const bytes = bytesOf(packed.data);
    this.size = 0;  // floats laid out so far
    this.fills = [];  // what goes into memory once there is one
    this.runs = [];
    this.values = [{ at: this.room(product(packed.input)), shape: packed.input }];
    this.scratch = 0;  // floats that the largest step needs besides its values
    const steps = [];
    for (const [op, inputs, shape, settings, arrays] of packed.steps) {
      const loaded = {};
      for (const name in arrays) loaded[name] = arrayOf(bytes, arrays[name]);
      const value = { at: this.room(product(shape)), shape };
      this.values.push(value);
      if (!(op in STEPS) && !(op in ACTIVATIONS)) throw new Error(`unknown step ${op}`);
      const sources = inputs.map((index) => this.values[index]);
      const plan = op in STEPS ? STEPS[op] : activation(op);
      steps.push(plan(this, sources, value, settings, loaded));
    }
    this.scratchAt = this.room(this.scratch);
    this.output = this.values[packed.output];
    const pages = Math.ceil((this.size * 4) / 65536) + 1;
    this.products = null;
    if (wasm && typeof WebAssembly === "object") {
      try {
        const memory = new WebAssembly.Memory({ initial: pages });
        const instance = new WebAssembly.Instance(new WebAssembly.Module(wasm), { page: { memory } });
        this.floats = new Float32Array(memory.buffer);
        this.products = instance.exports;
      } catch { /* no vector instructions, or a page that forbids WebAssembly */ }
    }
    this.vectors = this.products !== null;
    if (!this.products) {
      this.floats = new Float32Array((pages * 65536) / 4);
      this.products = plainProducts(this.floats);
    }
    for (const [at, array] of this.fills) this.floats.set(array, at);
    this.fills = null;
    this.runs = steps;
  }

  /** Room for this many floats; its place. */
  room(count) {
    const at = this.size;
    this.size += roundUp(count, 4) + 4;
    return at;
  }

  keep(array) {
    const at = this.room(array.length);
    this.fills.push([at, array]);
    return at;
  }

  /** Rows of a matrix padded to a multiple of 4 rows and, for `matvec`, of 4 columns. */
  keepMatrix(array, rows, inner, width = inner) {
    const padded = new Float32Array(roundUp(rows, 4) * width);
    for (let row = 0; row < rows; row++) padded.set(array.subarray(row * inner, (row + 1) * inner), row * width);
    return this.keep(padded);
  }

  keepBias(bias, rows) {
    const padded = new Float32Array(roundUp(rows, 4));
    if (bias) padded.set(bias);
    return this.keep(padded);
  }

  needScratch(count) {
    this.scratch = Math.max(this.scratch, count + 32);
  }

  /** The output for an input, as a view that the next run overwrites. */
  run(input) {
    this.floats.set(input, this.values[0].at);
    for (const step of this.runs) step();
    return this.floats.subarray(this.output.at, this.output.at + product(this.output.shape));
  }
}

function activation(op) {
  return (net, [source], value, settings) => {
    const f = ACTIVATIONS[op](settings), count = product(value.shape);
    return () => {
      const floats = net.floats, from = source.at, to = value.at;
      if (op === "relu") for (let i = 0; i < count; i++) { const x = floats[from + i]; floats[to + i] = x > 0 ? x : 0; }
      else for (let i = 0; i < count; i++) floats[to + i] = f(floats[from + i]);
    };
  };
}

/** A product of a kept matrix with columns that `fill` writes, into `value` without the padding. */
function multiply(net, { rows, inner, columns, weight, bias, to, extra = 0 }) {
  if (columns === 1) {
    const width = roundUp(inner, 4), a = net.keepMatrix(weight, rows, inner, width), b = net.keepBias(bias, rows);
    net.needScratch(extra + width);
    return (x) => {
      let at = x;
      if (width !== inner) {
        at = net.scratchAt + extra;
        net.floats.copyWithin(at, x, x + inner);
        net.floats.fill(0, at + inner, at + width);
      }
      net.products.matvec(a * 4, at * 4, to() * 4, b * 4, rows, width);
    };
  }
  const height = roundUp(rows, 4), padded = roundUp(columns, 8);
  const a = net.keepMatrix(weight, rows, inner), b = net.keepBias(bias, rows);
  const direct = padded === columns && height === rows;
  net.needScratch(extra + (direct ? 0 : height * padded));
  return (x) => {  // x: inner rows of `padded` columns
    const c = direct ? to() : net.scratchAt + extra;
    net.products.matmul(a * 4, x * 4, c * 4, b * 4, height, inner, padded);
    if (!direct) {
      for (let row = 0; row < rows; row++) {
        net.floats.copyWithin(to() + row * columns, c + row * padded, c + row * padded + columns);
      }
    }
  };
}

const STEPS = {
  dense(net, [source], value, { rows }, { weight, bias }) {
    const outputs = product(value.shape) / rows, inner = weight.length / outputs;
    let row = 0;
    const to = () => value.at + row * outputs;
    const times = multiply(net, { rows: outputs, inner, columns: 1, weight, bias, to });
    return () => { for (row = 0; row < rows; row++) times(source.at + row * inner); };
  },

  /** Patches as columns (im2col), then one product. */
  conv(net, [source], value, settings, { weight, bias }) {
    const { stride, padding, dilation, kernel, groups } = settings;
    const [channels, height, width] = settings.source, [outputs, outHeight, outWidth] = value.shape;
    const [kh, kw] = kernel, places = outHeight * outWidth, columns = places === 1 ? 1 : roundUp(places, 8);
    const inner = (channels / groups) * kh * kw, rows = outputs / groups, extra = inner * columns;
    const parts = [];
    for (let group = 0; group < groups; group++) {
      parts.push(multiply(net, {
        rows, inner, columns: places, extra, to: () => value.at + group * rows * places,
        weight: weight.subarray(group * rows * inner, (group + 1) * rows * inner),
        bias: bias && bias.subarray(group * rows, (group + 1) * rows),
      }));
    }
    return () => {
      const floats = net.floats, patches = net.scratchAt;
      for (let group = 0; group < groups; group++) {
        const first = source.at + group * (channels / groups) * height * width;
        let to = patches;
        for (let c = 0; c < channels / groups; c++) {
          const plane = first + c * height * width;
          for (let ky = 0; ky < kh; ky++) {
            for (let kx = 0; kx < kw; kx++, to += columns) {
              let at = to;
              for (let y = 0; y < outHeight; y++) {
                const iy = y * stride[0] - padding[0] + ky * dilation[0];
                if (iy < 0 || iy >= height) {
                  floats.fill(0, at, at + outWidth);
                  at += outWidth;
                  continue;
                }
                let ix = kx * dilation[1] - padding[1];
                const row = plane + iy * width;
                for (let x = 0; x < outWidth; x++, ix += stride[1]) {
                  floats[at++] = ix >= 0 && ix < width ? floats[row + ix] : 0;
                }
              }
            }
          }
        }
        parts[group](patches);
      }
    };
  },

  /** One product, whose columns are added where the kernel puts them (col2im). */
  upconv(net, [source], value, settings, { weight, bias }) {
    const { stride, padding, dilation, kernel, groups } = settings;
    const [channels, height, width] = settings.source, [outputs, outHeight, outWidth] = value.shape;
    const [kh, kw] = kernel, places = height * width, columns = places === 1 ? 1 : roundUp(places, 8);
    const inner = channels / groups, each = outputs / groups, rows = each * kh * kw;
    const aligned = columns === places, spread = rows * places, extra = spread + (aligned ? 0 : inner * columns);
    const parts = [];
    for (let group = 0; group < groups; group++) {
      const turned = new Float32Array(rows * inner);  // (inputs, rows) -> (rows, inputs)
      for (let i = 0; i < inner; i++) {
        for (let r = 0; r < rows; r++) turned[r * inner + i] = weight[(group * inner + i) * rows + r];
      }
      const to = () => net.scratchAt;
      parts.push(multiply(net, { rows, inner, columns: places, weight: turned, bias: null, extra, to }));
    }
    net.needScratch(extra);
    return () => {
      const floats = net.floats;
      for (let group = 0; group < groups; group++) {
        let from = source.at + group * inner * places;
        if (!aligned) {
          const padded = net.scratchAt + spread;
          for (let i = 0; i < inner; i++) {
            floats.copyWithin(padded + i * columns, from + i * places, from + (i + 1) * places);
          }
          from = padded;
        }
        parts[group](from);
        let at = net.scratchAt;
        for (let o = 0; o < each; o++) {
          const plane = value.at + (group * each + o) * outHeight * outWidth;
          floats.fill(bias ? bias[group * each + o] : 0, plane, plane + outHeight * outWidth);
          for (let ky = 0; ky < kh; ky++) {
            for (let kx = 0; kx < kw; kx++) {
              const left = kx * dilation[1] - padding[1];
              const firstX = Math.max(0, Math.ceil(-left / stride[1]));
              const lastX = Math.min(width, Math.floor((outWidth - 1 - left) / stride[1]) + 1);
              for (let y = 0; y < height; y++, at += width) {
                const oy = y * stride[0] - padding[0] + ky * dilation[0];
                if (oy < 0 || oy >= outHeight) continue;
                let out = plane + oy * outWidth + left + firstX * stride[1];
                for (let x = firstX; x < lastX; x++, out += stride[1]) floats[out] += floats[at + x];
              }
            }
          }
        }
      }
    };
  },

  /** x·scale + shift, with one of each, one per channel or one per element. */
  affine(net, [source], value, _, { scale, shift }) {
    const count = product(value.shape), each = count / scale.length;
    return () => {
      const floats = net.floats;
      for (let c = 0, i = 0; c < scale.length; c++) {
        const a = scale[c], b = shift[c];
        for (const end = i + each; i < end; i++) floats[value.at + i] = floats[source.at + i] * a + b;
      }
    };
  },

  normalise(net, [source], value, { groups, eps }) {
    const each = product(value.shape) / groups;
    return () => {
      const floats = net.floats;
      for (let group = 0; group < groups; group++) {
        const from = source.at + group * each, to = value.at + group * each;
        let mean = 0, variance = 0;
        for (let i = 0; i < each; i++) mean += floats[from + i] / each;
        for (let i = 0; i < each; i++) variance += (floats[from + i] - mean) ** 2 / each;
        const scale = 1 / Math.sqrt(variance + eps);
        for (let i = 0; i < each; i++) floats[to + i] = (floats[from + i] - mean) * scale;
      }
    };
  },

  gather(net, [source], value, _, { index }) {
    const length = product(source.shape);
    return () => {
      const floats = net.floats;
      for (let i = 0; i < index.length; i++) floats[value.at + i] = index[i] < length ? floats[source.at + index[i]] : 0;
    };
  },

  join(net, sources, value) {
    return () => {
      let to = value.at;
      for (const { at, shape } of sources) {
        net.floats.copyWithin(to, at, at + product(shape));
        to += product(shape);
      }
    };
  },

  reduce(net, [source], value, { count, scale }) {
    return () => {
      const floats = net.floats;
      for (let i = 0, at = source.at; i < product(value.shape); i++) {
        let sum = 0;
        for (const end = at + count; at < end; at++) sum += floats[at];
        floats[value.at + i] = sum * scale;
      }
    };
  },

  norm(net, [source], value, { count }) {
    return () => {
      const floats = net.floats;
      for (let i = 0, at = source.at; i < product(value.shape); i++) {
        let sum = 0;
        for (const end = at + count; at < end; at++) sum += floats[at] * floats[at];
        floats[value.at + i] = Math.sqrt(sum);
      }
    };
  },

  add: (net, sources, value) => pairwise(net, sources, value, (a, b) => a + b),
  sub: (net, sources, value) => pairwise(net, sources, value, (a, b) => a - b),
  mul: (net, sources, value) => pairwise(net, sources, value, (a, b) => a * b),
  div: (net, sources, value) => pairwise(net, sources, value, (a, b) => a / b),
  maxpool: (net, sources, value, settings) => pool(net, sources, value, settings, true),
  avgpool: (net, sources, value, settings) => pool(net, sources, value, settings, false),
};

function pairwise(net, [left, right], value, f) {
  const count = product(value.shape);
  return () => {
    const floats = net.floats;
    for (let i = 0; i < count; i++) floats[value.at + i] = f(floats[left.at + i], floats[right.at + i]);
  };
}

function pool(net, [source], value, { kernel, stride, padding, source: shape }, largest) {
  const [channels, height, width] = shape, [, outHeight, outWidth] = value.shape;
  return () => {
    const floats = net.floats;
    let to = value.at;
    for (let c = 0; c < channels; c++) {
      for (let y = 0; y < outHeight; y++) {
        for (let x = 0; x < outWidth; x++) {
          let found = largest ? -Infinity : 0;
          for (let ky = 0; ky < kernel[0]; ky++) {
            const iy = y * stride[0] - padding[0] + ky;
            for (let kx = 0; iy >= 0 && iy < height && kx < kernel[1]; kx++) {
              const ix = x * stride[1] - padding[1] + kx;
              if (ix < 0 || ix >= width) continue;
              const v = floats[source.at + (c * height + iy) * width + ix];
              found = largest ? Math.max(found, v) : found + v;
            }
          }
          floats[to++] = largest ? found : found / (kernel[0] * kernel[1]);
        }
      }
    }
  };
}

// The page's worker: network.js stands above. Decodes positions of sliders into pixels, and encodes pixels.
let decoder = null, encoder = null, shape = null;

/** Values in [0, 1] by channel, as RGBA pixels. */
function paint(values, pixels, offset) {
  const [channels, height, width] = shape, plane = height * width, colour = channels >= 3;
  for (let i = 0, to = offset; i < plane; i++, to += 4) {
    pixels[to] = values[i] * 255;  // a clamped array rounds and clips
    pixels[to + 1] = values[colour ? i + plane : i] * 255;
    pixels[to + 2] = values[colour ? i + 2 * plane : i] * 255;
    pixels[to + 3] = 255;
  }
}

onmessage = ({ data }) => {
  try {
    if (data.load) {
      shape = data.load.image;
      const wasm = bytesOf(data.load.wasm);
      decoder = data.load.decoder && new Network(data.load.decoder, wasm);
      encoder = data.load.encoder && new Network(data.load.encoder, wasm);
      postMessage({ job: data.job, vectors: (decoder || encoder).vectors });
    } else if (data.encode) {
      postMessage({ job: data.job, positions: encoder.run(data.encode).slice() });
    } else {
      const width = data.decode.length / data.count, [, height, side] = shape, size = height * side * 4;
      const pixels = new Uint8ClampedArray(size * data.count), start = performance.now();
      for (let i = 0; i < data.count; i++) {
        paint(decoder.run(data.decode.subarray(i * width, (i + 1) * width)), pixels, i * size);
      }
      const milliseconds = (performance.now() - start) / data.count;
      postMessage({ job: data.job, pixels, milliseconds }, [pixels.buffer]);
    }
  } catch (error) {
    postMessage({ job: data.job, error: String(error) });
  }
};

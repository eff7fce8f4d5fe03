// Every result against plain 64-bit sums and formulas that share nothing with the library.
use gpuready_ternary::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

// xorshift64*, as any generator that is the same everywhere.
struct Random(u64);
impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32
    }
    fn code(&mut self) -> i8 {
        (self.next() % 3) as i8 - 1
    }
    fn activation(&mut self) -> i8 {
        self.next() as i8
    }
    fn float(&mut self) -> f32 {
        self.next() as f32 / (1u64 << 31) as f32 - 1.0
    }
}

const SHAPES: [(usize, usize, usize); 5] = [(1, 1, 32), (1, 16, 256), (3, 37, 300), (7, 64, 1024), (17, 130, 500)];

fn cpu() -> Engine {
    Engine::new(Device::Cpu).unwrap()
}

fn sums(codes: &[i8], activations: &[i8], k: usize) -> Vec<i64> {
    let dot = |a: &[i8], b: &[i8]| a.iter().zip(b).map(|(a, b)| *a as i64 * *b as i64).sum();
    activations.chunks(k).flat_map(|x| codes.chunks(k).map(move |w| dot(w, x)).collect::<Vec<i64>>()).collect()
}

fn kind<T>(result: Result<T>) -> ErrorKind {
    result.err().expect("an error").kind()
}

#[test]
fn products_of_codes_are_exact() {
    let (engine, mut random) = (cpu(), Random(1));
    for (m, n, k) in SHAPES {
        let codes: Vec<i8> = (0..n * k).map(|_| random.code()).collect();
        let x: Vec<i8> = (0..m * k).map(|_| random.activation()).collect();
        let scales: Vec<f32> = (0..n).map(|i| 1.0 + i as f32).collect();
        let weights = engine.load_codes(&codes, n, k, &scales, 0).unwrap();
        assert_eq!((weights.rows(), weights.cols(), weights.on_device()), (n, k, false));
        let mut out = vec![0; m * n];
        engine.multiply_i32(&weights, &x, m, &mut out).unwrap();
        let got: Vec<i64> = out.iter().map(|&sum| sum as i64).collect();
        assert_eq!(got, sums(&codes, &x, k), "{m} x {n} x {k}");
    }
}

// Activations as bitnet.cpp quantises them; the product of the sum with step and scale may be rounded twice.
#[test]
fn products_of_values_follow_the_formula() {
    let (engine, mut random) = (cpu(), Random(2));
    for (m, n, k) in SHAPES {
        let codes: Vec<i8> = (0..n * k).map(|_| random.code()).collect();
        let scales: Vec<f32> = (0..n).map(|_| 0.5 + random.float().abs()).collect();
        let x: Vec<f32> = (0..m * k).map(|_| 3.0 * random.float()).collect();
        let weights = engine.load_codes(&codes, n, k, &scales, 0).unwrap();
        let mut out = vec![0.0; m * n];
        engine.multiply(&weights, &x, m, &mut out).unwrap();
        let mut quantised = vec![];
        let mut steps = vec![];
        for row in x.chunks(k) {
            let most = row.iter().fold(1e-5f32, |most, value| most.max(value.abs()));
            let s = 127.0 / most;
            // No value is half-way between two numbers here, so that every rounding to nearest is one.
            quantised.extend(row.iter().map(|value| (value * s).round().clamp(-128.0, 127.0) as i8));
            steps.push(most as f64 / 127.0);
        }
        let wanted = sums(&codes, &quantised, k);
        for (index, (got, sum)) in out.iter().zip(wanted).enumerate() {
            let exact = sum as f64 * steps[index / n] * scales[index % n] as f64;
            let error = (*got as f64 - exact).abs();
            assert!(error <= 2.5e-7 * exact.abs(), "{m} x {n} x {k}, {index}: {got}, not {exact}");
        }
    }
}

#[test]
fn bias_and_residual_are_added_in_order() {
    let (engine, mut random) = (cpu(), Random(3));
    let (m, n, k) = (3, 37, 300);
    let mut floats = |count: usize| (0..count).map(|_| random.float()).collect::<Vec<f32>>();
    let (w, x, bias, residual) = (floats(n * k), floats(m * k), floats(n), floats(m * n));
    let codes: Vec<i8> = w.iter().map(|value| value.round() as i8).collect();
    let weights = engine.load_codes(&codes, n, k, &vec![0.25f32; n], 0).unwrap();
    let mut plain = vec![0.0; m * n];
    engine.multiply(&weights, &x, m, &mut plain).unwrap();
    let wanted: Vec<f32> = plain.iter().enumerate().map(|(i, sum)| sum + bias[i % n] + residual[i]).collect();

    let added = Added { bias: Some((&bias).into()), residual: Residual::Of((&residual).into()) };
    let mut out = vec![0.0f32; m * n];
    engine.multiply_add(&weights, &x, m, added, &mut out).unwrap();
    assert_eq!(out, wanted);
    let mut in_place = residual.clone();
    let added = Added { bias: Some((&bias).into()), residual: Residual::Output };
    engine.multiply_add(&weights, &x, m, added, &mut in_place).unwrap();
    assert_eq!(in_place, wanted);
    // bfloat16 is the upper half of f32, rounded to nearest, ties to even.
    let mut rounded = vec![Bf16(0); m * n];
    engine.multiply_add(&weights, &x, m, Added::default(), &mut rounded).unwrap();
    let halves: Vec<Bf16> = plain
        .iter()
        .map(|value| {
            let bits = value.to_bits();
            Bf16(((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) as u16)
        })
        .collect();
    assert_eq!(rounded, halves);

    let short = Added { bias: Some((&bias[..n - 1]).into()), ..Added::default() };
    assert_eq!(kind(engine.multiply_add(&weights, &x, m, short, &mut out)), ErrorKind::WrongSize);
    let short = Added { residual: Residual::Of((&residual[..n]).into()), ..Added::default() };
    assert_eq!(kind(engine.multiply_add(&weights, &x, m, short, &mut out)), ErrorKind::WrongSize);
}

// BitNet.rs' I2_S: blocks of 32, scale absmax / 1.5, codes 0, 1 and 3 for 0, +1 and -1, lowest bits first.
#[test]
fn quantize_writes_what_bitnet_rs_writes() {
    let mut random = Random(4);
    let values: Vec<f32> = (0..256).map(|_| random.float()).collect();
    let (mut output, mut scales) = (vec![0; 64], vec![0.0; 8]);
    let quantizer = DeviceAwareQuantizer::new(Device::Cpu).unwrap();
    assert_eq!(encoded_size(QuantizationType::I2S.format(), 1, 256).unwrap(), (64, 8));
    quantizer.quantize(&values, &mut output, &mut scales, QuantizationType::I2S).unwrap();
    for (block, values) in values.chunks(32).enumerate() {
        let scale = values.iter().fold(0f32, |most, value| most.max(value.abs())) / 1.5;
        assert_eq!(scales[block], scale);
        for (index, value) in values.iter().enumerate() {
            let v = value / scale;
            let code = if v > 0.5 {
                1
            } else if v < -0.5 {
                3
            } else {
                0
            };
            let byte = output[block * 8 + index / 4];
            assert_eq!(byte >> (2 * (index % 4)) & 3, code, "block {block}, {index}: {v}");
        }
    }
    let stats = quantizer.get_stats().unwrap();
    assert_eq!((stats.quantization_operations, stats.matmul_operations), (1, 0));
    assert!(!stats.is_gpu_effective());
    assert!(!stats.summary().is_empty());
    let mut short = vec![0; 63];
    let wrong = quantizer.quantize(&values, &mut short, &mut scales, QuantizationType::I2S);
    assert_eq!(kind(wrong), ErrorKind::WrongSize);
}

#[test]
fn saved_weights_are_viewed_in_place_and_damage_is_found() {
    let (engine, mut random) = (cpu(), Random(5));
    let values: Vec<f32> = (0..48 * 256).map(|_| random.float()).collect();
    let x: Vec<f32> = (0..256).map(|_| random.float()).collect();
    for form in [Form::TwoBit, Form::ThreeTrits] {
        let options = PackOptions { form, threads: 1 };
        let packed = Packed::from_values(&values, 48, 256, "i2_s-x86", Rule::Absmean, options).unwrap();
        assert_eq!((packed.rows(), packed.cols()), (48, 256));
        let (mut a, mut b) = ([0.0; 48], [0.0; 48]);
        engine.multiply(&engine.load(&packed).unwrap(), &x, 1, &mut a).unwrap();
        let saved = packed.save().unwrap();
        drop(packed);
        let weights = engine.load(&Packed::view(&saved, 1).unwrap()).unwrap();
        engine.multiply(&weights, &x, 1, &mut b).unwrap();
        assert_eq!(a, b);
        let mut damaged = saved.to_vec();
        damaged[100] ^= 1; // in a panel, behind the header
        let damaged = Saved::from(&damaged[..]);
        assert!(Packed::view(&damaged, 1).is_err());
        assert_eq!(kind(Packed::view(&saved[..63], 1)), ErrorKind::Truncated);
        assert!(Packed::view(&saved[1..], 1).is_err(), "not at a multiple of 64");
    }
}

struct Counting(AtomicU32);
impl Pool for Counting {
    fn threads(&self) -> u32 {
        3
    }
    fn run(&self, count: u32, task: &(dyn Fn() + Sync)) {
        self.0.fetch_add(1, Ordering::Relaxed);
        // One part is left to the caller, and one call has nothing to do.
        std::thread::scope(|scope| {
            for _ in 1..count {
                scope.spawn(task);
            }
        });
    }
}

#[test]
fn a_pool_of_the_callers_and_many_threads_give_the_same_sums() {
    let pool = Arc::new(Counting(AtomicU32::new(0)));
    let options = Options { device: Device::Cpu, pool: Some(pool.clone()), ..Options::default() };
    let (engine, mut random) = (Engine::with(&options).unwrap(), Random(6));
    let (n, k) = (4096, 2048); // enough for several threads on a busy machine, too
    let codes: Vec<i8> = (0..n * k).map(|_| random.code()).collect();
    let x: Vec<i8> = (0..k).map(|_| random.activation()).collect();
    let weights = engine.load_codes(&codes, n, k, &vec![1.0f32; n], 0).unwrap();
    let wanted = sums(&codes, &x, k);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut out = vec![0; n];
                engine.multiply_i32(&weights, &x, 1, &mut out).unwrap();
                assert!(out.iter().zip(&wanted).all(|(got, sum)| *got as i64 == *sum));
            });
        }
    });
    assert!(pool.0.load(Ordering::Relaxed) > 0, "the pool was not used");
    assert!(!engine.active_provider().is_empty());
    drop(engine);
    assert_eq!(weights.rows(), n, "weights outlive their engine");
}

// A file of version 3 with one tensor of TQ2_0: all codes 2 (+1), scale 1.0 (0x3C00).
fn gguf(name: &str) -> Vec<u8> {
    let mut file = b"GGUF".to_vec();
    file.extend(3u32.to_le_bytes());
    file.extend(1u64.to_le_bytes());
    file.extend(0u64.to_le_bytes());
    file.extend((name.len() as u64).to_le_bytes());
    file.extend(name.as_bytes());
    file.extend(2u32.to_le_bytes());
    file.extend(256u64.to_le_bytes());
    file.extend(2u64.to_le_bytes());
    file.extend(35u32.to_le_bytes());
    file.extend(0u64.to_le_bytes());
    file.resize((file.len() + 31) / 32 * 32, 0);
    for _ in 0..2 {
        file.extend([0xAA; 64]);
        file.extend([0x00, 0x3C]);
    }
    file
}

#[test]
fn gguf_files_are_read_in_place() {
    let bytes = gguf("blk.0.ffn_up.weight");
    let file = Gguf::read(&bytes).unwrap();
    let index = file.find("blk.0.ffn_up.weight").unwrap();
    let tensor = Tensor { name: "blk.0.ffn_up.weight".into(), rows: 2, cols: 256, ggml_type: 35 };
    assert_eq!((file.len(), index, file.tensor(0).unwrap()), (1, 0, tensor));
    let packed = file.pack(0, None, PackOptions::default()).unwrap();
    drop(file);
    let (engine, x) = (cpu(), vec![2i8; 256]);
    let mut out = [0; 2];
    engine.multiply_i32(&engine.load(&packed).unwrap(), &x, 1, &mut out).unwrap();
    assert_eq!(out, [512, 512]);

    assert_eq!(kind(Gguf::read(&bytes).unwrap().find("other")), ErrorKind::NotFound);
    assert!(Gguf::read(&bytes[..40]).is_err());
    assert!(Gguf::read(b"no such file").is_err());
}

#[test]
fn errors_have_a_kind_and_a_sentence() {
    let engine = cpu();
    let values = [1.0f32; 256];
    let load = |format: &str| engine.load_values(&values, 1, 256, format, Rule::OfFormat).err().unwrap();
    let error = load("I2_S");
    assert_eq!(error.kind(), ErrorKind::AmbiguousFormat);
    assert!(error.message().contains("i2_s-x86"), "{error}");
    assert!(error.to_string().starts_with(ErrorKind::AmbiguousFormat.text()));
    assert_eq!(load("no such").kind(), ErrorKind::UnknownFormat);
    assert_eq!(load("a\0b").kind(), ErrorKind::BadArgument);
    let not_a_number = [f32::NAN; 256];
    let loaded = engine.load_values(&not_a_number, 1, 256, "tq2_0", Rule::OfFormat);
    assert_eq!(kind(loaded), ErrorKind::NotFinite);
    assert_eq!(kind(engine.load_codes(&[2; 32], 1, 32, &[1.0f32], 0)), ErrorKind::BadCode);
    assert_eq!(kind(Engine::new(Device::Named("abacus".into()))), ErrorKind::BadArgument);
    let tier = Options { device: Device::Cpu, tier: Some("abacus".into()), ..Options::default() };
    assert_eq!(kind(Engine::with(&tier)), ErrorKind::UnsupportedTier);
    assert_eq!(ErrorKind::Other(999).status(), 999);
}

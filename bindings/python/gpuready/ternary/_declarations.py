"""The declarations of ternary_c.h and ternary_cuda_c.h that this package uses, as they are there, and their types."""
import ctypes as c
import re
from typing import Any, Dict, List, Tuple, Type

FUNCTIONS = """
const char* gpuready_last_error(void);
gpuready_status gpuready_ternary_engine_create(const gpuready_ternary_options* options,
    gpuready_ternary_engine** engine);
gpuready_status gpuready_ternary_fallback(gpuready_ternary_engine* engine, size_t index, char* text, size_t
    capacity, size_t* count);
void gpuready_ternary_engine_destroy(gpuready_ternary_engine* engine);
gpuready_status gpuready_ternary_encoded_size(const char* format, int64_t rows, int64_t cols, size_t* bytes,
    size_t* scales);
gpuready_status gpuready_ternary_quantise(gpuready_ternary_engine* engine, const void* values,
    gpuready_ternary_type type, size_t count, int64_t rows, int64_t cols, const char* format,
    gpuready_ternary_rule rule, void* bytes, size_t byte_count, float* scales, size_t scale_count);
gpuready_status gpuready_ternary_weights_from_values(gpuready_ternary_engine* engine, const void* values,
    gpuready_ternary_type type, size_t count, int64_t rows, int64_t cols, const char* format,
    gpuready_ternary_rule rule, gpuready_ternary_weights** weights);
gpuready_status gpuready_ternary_weights_from_bytes(gpuready_ternary_engine* engine, const char* format, int64_t
    rows, int64_t cols, const void* bytes, size_t byte_count, const float* scales, size_t scale_count,
    gpuready_ternary_weights** weights);
gpuready_status gpuready_ternary_weights_from_codes(gpuready_ternary_engine* engine, const int8_t* codes, size_t
    code_count, int64_t rows, int64_t cols, const void* scales, gpuready_ternary_type scale_type, size_t
    scale_count, int64_t group, gpuready_ternary_weights** weights);
void gpuready_ternary_weights_destroy(gpuready_ternary_weights* weights);
gpuready_status gpuready_ternary_weights_info(const gpuready_ternary_weights* weights, int64_t* rows, int64_t*
    cols, int32_t* on_device);
gpuready_status gpuready_ternary_weights_fallback(const gpuready_ternary_weights* weights, char* text, size_t
    capacity);
gpuready_status gpuready_ternary_multiply_add(gpuready_ternary_engine* engine, const gpuready_ternary_weights*
    weights, const void* activations, gpuready_ternary_type type, size_t activation_count, int64_t m, const
    void* bias, gpuready_ternary_type bias_type, const void* residual, gpuready_ternary_type residual_type,
    void* out, gpuready_ternary_type out_type, size_t out_bytes);
gpuready_status gpuready_ternary_multiply_i32(gpuready_ternary_engine* engine, const gpuready_ternary_weights*
    weights, const int8_t* activations, size_t activation_count, int64_t m, int32_t* out, size_t out_count);
gpuready_status gpuready_ternary_pack(const char* format, int64_t rows, int64_t cols, const void* bytes, size_t
    byte_count, const float* scales, size_t scale_count, gpuready_ternary_form form, uint32_t threads,
    gpuready_ternary_packed** packed);
gpuready_status gpuready_ternary_pack_values(const void* values, gpuready_ternary_type type, size_t count,
    int64_t rows, int64_t cols, const char* format, gpuready_ternary_rule rule, gpuready_ternary_form form,
    uint32_t threads, gpuready_ternary_packed** packed);
void gpuready_ternary_packed_destroy(gpuready_ternary_packed* packed);
gpuready_status gpuready_ternary_packed_info(const gpuready_ternary_packed* packed, int64_t* rows, int64_t*
    cols, size_t* bytes, size_t* saved_bytes);
gpuready_status gpuready_ternary_packed_save(const gpuready_ternary_packed* packed, void* to, size_t
    saved_bytes);
gpuready_status gpuready_ternary_packed_view(const void* saved, size_t saved_bytes, int32_t trust, uint32_t
    threads, gpuready_ternary_packed** packed);
gpuready_status gpuready_ternary_weights_from_packed(gpuready_ternary_engine* engine, const
    gpuready_ternary_packed* packed, gpuready_ternary_weights** weights);
gpuready_status gpuready_ternary_gguf_read(const void* bytes, size_t size, gpuready_ternary_gguf** file);
void gpuready_ternary_gguf_destroy(gpuready_ternary_gguf* file);
gpuready_status gpuready_ternary_gguf_count(const gpuready_ternary_gguf* file, size_t* tensors);
gpuready_status gpuready_ternary_gguf_find(const gpuready_ternary_gguf* file, const char* name, size_t* index);
gpuready_status gpuready_ternary_gguf_tensor(const gpuready_ternary_gguf* file, size_t index, char* name, size_t
    capacity, int64_t* rows, int64_t* cols, uint32_t* type);
gpuready_status gpuready_ternary_gguf_pack(const gpuready_ternary_gguf* file, size_t index, const char* layout,
    gpuready_ternary_form form, uint32_t threads, gpuready_ternary_packed** packed);
gpuready_status gpuready_ternary_get_stats(gpuready_ternary_engine* engine, gpuready_ternary_stats* stats);
gpuready_status gpuready_ternary_active_kernel(gpuready_ternary_engine* engine, char* text, size_t capacity);
gpuready_status gpuready_ternary_summary(gpuready_ternary_engine* engine, char* text, size_t capacity);
gpuready_status gpuready_ternary_cuda_create(void* context, gpuready_ternary_cuda** engine);
void gpuready_ternary_cuda_destroy(gpuready_ternary_cuda* engine);
gpuready_status gpuready_ternary_cuda_load(gpuready_ternary_cuda* engine, const gpuready_ternary_packed* const*
    stacked, size_t count, gpuready_ternary_cuda_weights** weights);
void gpuready_ternary_cuda_weights_destroy(gpuready_ternary_cuda_weights* weights);
gpuready_status gpuready_ternary_cuda_weights_info(const gpuready_ternary_cuda_weights* weights, int64_t* rows,
    int64_t* cols, size_t* bytes);
gpuready_status gpuready_ternary_cuda_activations_create(gpuready_ternary_cuda* engine, int64_t m, int64_t k,
    gpuready_ternary_cuda_activations** activations);
void gpuready_ternary_cuda_activations_destroy(gpuready_ternary_cuda_activations* activations);
gpuready_status gpuready_ternary_cuda_workspace(gpuready_ternary_cuda* engine, int64_t n, int64_t k, int64_t m,
    size_t* bytes);
gpuready_status gpuready_ternary_cuda_prepare(gpuready_ternary_cuda* engine, int64_t n, int64_t k, int64_t m);
gpuready_status gpuready_ternary_cuda_kernel(gpuready_ternary_cuda* engine, int64_t n, int64_t k, int64_t m,
    char* text, size_t capacity);
gpuready_status gpuready_ternary_cuda_quantise(gpuready_ternary_cuda* engine, void* stream, const void* values,
    gpuready_ternary_type type, size_t bytes, gpuready_ternary_cuda_activations* into, int64_t m);
gpuready_status gpuready_ternary_cuda_multiply_add(gpuready_ternary_cuda* engine, void* stream, const
    gpuready_ternary_cuda_weights* weights, const gpuready_ternary_cuda_activations* activations, int64_t m,
    const void* bias, gpuready_ternary_type bias_type, const void* residual, gpuready_ternary_type
    residual_type, void* out, gpuready_ternary_output out_type, size_t out_bytes, void* workspace, size_t
    workspace_bytes);
gpuready_status gpuready_ternary_cuda_multiply_values_add(gpuready_ternary_cuda* engine, void* stream, const
    gpuready_ternary_cuda_weights* weights, const void* values, gpuready_ternary_type type, size_t bytes,
    gpuready_ternary_cuda_activations* room, int64_t m, const void* bias, gpuready_ternary_type bias_type, const
    void* residual, gpuready_ternary_type residual_type, void* out, gpuready_ternary_output out_type, size_t
    out_bytes, void* workspace, size_t workspace_bytes);
gpuready_status gpuready_ternary_cuda_check(gpuready_ternary_cuda* engine, void* stream, const
    gpuready_ternary_cuda_activations* activations, int64_t m);
"""
OPTIONS = """
size_t size; const char* target; int32_t strict; int32_t force_cpu_fallback; uint64_t memory_limit_bytes,
    expected_bytes; uint32_t threads; int32_t breaker_errors; uint64_t breaker_retry_calls,
    breaker_cool_down_ms; const char* tier; void (*pool_run)(void* pool_context, unsigned count, void
    (*task)(void* argument, unsigned index), void* argument); void* pool_context; uint32_t pool_threads;
"""
STATS = """
size_t size; uint64_t total_operations, quantization_operations, matmul_operations; double total_time_ms,
    quantization_time_ms, matmul_time_ms; uint64_t gpu_operations, cpu_operations, failed_operations,
    fallback_count; double gpu_efficiency; int32_t gpu_effective; int32_t device_lost; int32_t breaker; int32_t
    memory_known; uint64_t memory_used_bytes, memory_total_bytes; int32_t device_memory_known; uint64_t
    device_memory_used_bytes, device_memory_total_bytes; uint64_t device_weights_bytes, host_weights_bytes,
    device_errors, breaker_trips; double avg_quantization_time_ms, avg_matmul_time_ms; char device_type[256];
    char device_name[256]; char target_device[256]; char last_gpu_error[256]; char last_cpu_error[256]; char
    last_fallback_reason[256];
"""
TEXT_MAX = 256
_NAMED: Dict[str, Any] = {
    "int32_t": c.c_int32, "int64_t": c.c_int64, "uint32_t": c.c_uint32, "uint64_t": c.c_uint64, "size_t": c.c_size_t,
    "double": c.c_double, "const char*": c.c_char_p, "void": None,
    **dict.fromkeys(("gpuready_status", "gpuready_ternary_type", "gpuready_ternary_rule", "gpuready_ternary_form",
                     "gpuready_ternary_output"), c.c_int)}
Field = Tuple[str, Any]


def _type_of(text: str) -> Any:
    """Every pointer but a constant text is an address."""
    return _NAMED[text] if text in _NAMED or not text.endswith("*") else c.c_void_p


def functions() -> Dict[str, Tuple[Any, List[Field]]]:
    """Result and parameters, with their names, by name."""
    found = {}
    for result, name, parameters in re.findall(r"([\w *]+?)\s*\b(gpuready_\w+)\(([^)]*)\);", " ".join(FUNCTIONS.split())):
        split = [re.fullmatch(r"(.*?)\s*(\w+)", each.strip()) for each in parameters.split(",") if each.strip() != "void"]
        found[name] = (_type_of(result.strip()), [(each[2], _type_of(each[1])) for each in split if each])
    return found


def struct(name: str, text: str) -> Type[c.Structure]:
    """With room for what a later library knows: zero in options, not read in results."""
    fields: List[Field] = []
    text = re.sub(r"void \(\*(\w+)\)\(.*?\);", r"void* \1;", " ".join(text.split()))  # a pointer to a function
    for declaration in text.strip(" ;").split(";"):
        kind, names = re.fullmatch(r"((?:const )?\w+\*?) (.*)", declaration.strip()).groups()  # type: ignore[union-attr]
        for each in names.split(", "):
            fields.append((each[:each.index("[")], c.c_char * TEXT_MAX) if "[" in each else (each, _type_of(kind)))
    return type(name, (c.Structure,), {"_fields_": [*fields, ("later", c.c_uint64 * 64)]})


Options, Stats = struct("Options", OPTIONS), struct("Stats", STATS)

/* What every call of gpuready's C interfaces returns, and the text of the last error. */
#ifndef GPUREADY_STATUS_H
#define GPUREADY_STATUS_H

#if defined(__GNUC__)
#define GPUREADY_API __attribute__((visibility("default")))
#else
#define GPUREADY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gpuready_status {
  GPUREADY_OK = 0,
  GPUREADY_NO_GPU = 1,       /* no backend, or the device that was asked for is not there */
  GPUREADY_BAD_ARGUMENT = 2, /* a null pointer, a struct's size, a value or text out of range */
  GPUREADY_DEVICE_ERROR = 3, /* a driver is there and failed */
  GPUREADY_INTERNAL_ERROR = 4,
  GPUREADY_TOO_LARGE = 5,     /* a size overflows or exceeds a limit, or memory ran out */
  GPUREADY_NOT_FOUND = 6,     /* a file, or what was named in it */
  GPUREADY_NO_PERMISSION = 7, /* this user or container may not use it */
  GPUREADY_TIMED_OUT = 8,
  GPUREADY_UNSUPPORTED = 9, /* this platform, driver or device cannot do it */
  GPUREADY_BUSY = 10,
  GPUREADY_CANCELLED = 11,
  GPUREADY_IO_ERROR = 12,
  GPUREADY_DEVICE_MEMORY = 13, /* the device does not have enough free memory */
  GPUREADY_DEVICE_LOST = 14,   /* nothing can be done there any more */
  GPUREADY_WRONG_SIZE = 15,    /* a buffer or shape does not fit the format or the other operand */
  GPUREADY_TRUNCATED = 16,     /* encoded bytes end too early */
  GPUREADY_NOT_FINITE = 17,    /* a NaN or an infinity in the input */
  GPUREADY_BAD_CODE = 18,      /* bytes hold a code that the format does not define */
  GPUREADY_NOT_REPRESENTABLE = 19, /* the target cannot hold these values without loss */
  GPUREADY_NOT_TERNARY = 20,       /* the format has four levels and no zero */
  GPUREADY_UNKNOWN_FORMAT = 21,
  GPUREADY_AMBIGUOUS_FORMAT = 22, /* several formats share this name */
  GPUREADY_UNSUPPORTED_TIER = 23  /* this CPU or build does not have the tier */
} gpuready_status;

/* A short English text for a status; never null. */
GPUREADY_API const char* gpuready_status_text(gpuready_status status);
/* What the last failing call on this thread says, of whichever header it is; "" when the last call
 * succeeded. Valid until the thread's next call. */
GPUREADY_API const char* gpuready_last_error(void);

#ifdef __cplusplus
}
#endif

#endif

// A stand-in for NVIDIA's management library, for what python/tandem/cuda/_nvml.py asks: two GPUs, those of the
// emulated driver, of which the second has no sensor of its temperature.
#include <cstring>
#include <string>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kTooSmall = 7;

struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpuInstance;
  unsigned computeInstance;
};

int known[2];
int count = 0;
std::string uuids[2];

}  // namespace

#define ENTRY extern "C" [[gnu::visibility("default")]]

ENTRY int nvmlInit_v2() { return kSuccess; }
ENTRY const char* nvmlErrorString(int result) {
  return result == kNotSupported ? "Not Supported" : result == kNotFound ? "Not Found" : "Unknown Error";
}
/// GPUs are numbered as they are asked for.
ENTRY int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  if (std::strncmp(uuid, "GPU-", 4) != 0) return kNotFound;
  for (int k = 0; k < count; ++k) {
    if (uuids[k] == uuid) return *device = &known[k], kSuccess;
  }
  if (count == 2) return kNotFound;
  uuids[count] = uuid;
  return *device = &known[count++], kSuccess;
}
ENTRY int nvmlDeviceGetUtilizationRates(void*, Utilization* rates) {
  *rates = {87, 41};
  return kSuccess;
}
ENTRY int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* degrees) {
  *degrees = 54;
  return device == &known[0] && sensor == 0 ? kSuccess : kNotSupported;
}
ENTRY int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 412034;
  return kSuccess;
}
ENTRY int nvmlDeviceGetClockInfo(void*, int clock, unsigned* megahertz) {
  *megahertz = clock == 1 ? 1980 : 0;
  return kSuccess;
}
/// More than are asked for at first.
ENTRY int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* found, Process* processes) {
  const unsigned running = device == &known[0] ? 9 : 0;
  const unsigned room = *found;
  *found = running;
  if (room < running) return kTooSmall;
  for (unsigned k = 0; k < running; ++k) processes[k] = {4711 + k, k == 8 ? ~0ULL : (k + 1ULL) << 30, 0, 0};
  return kSuccess;
}

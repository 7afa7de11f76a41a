#pragma once
// A function of the user, in a process of its own: one that crashes, hangs or prints takes nothing with it.
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mmaudit::checks {

/// What a function in a shared library is called as. Both return 0, or anything else for an error:
///   int gemm(uint64_t m, uint64_t n, uint64_t k, const void* a, const void* b, const void* c, void* d);
///   int tiles(uint64_t tiles, const void* a, const void* b, const void* c, const void* scale_a,
///             const void* scale_b, const void* metadata, void* d);
enum class Signature : std::uint8_t { gemm, tiles };

/// One call: sizes (m, n, k; tiles, 0, 0), inputs (a, b, c, scale_a, scale_b, metadata; null where there are
/// none), D.
struct ForeignCall {
  struct Bytes {
    const void* data = nullptr;
    std::size_t size = 0;
  };
  std::array<std::uint64_t, 3> sizes{};
  std::array<Bytes, 6> inputs{};
  void* d = nullptr;
  std::size_t d_size = 0;
};

/// The other side speaks this on a stream socket, all numbers 64 bits little-endian: it first sends 0, or the
/// length of a message of why it can't start, and the message. Then for every call it gets 3 sizes, 6 lengths
/// of inputs and the length of D, and the inputs; it sends 0 and D, or the length of a message, and the
/// message. It ends where the stream does.
class ForeignFunction {
 public:
  /// "./libmine.so:my_gemm".
  static ForeignFunction in_library(const std::string& name, Signature signature, double timeout_s);
  /// A command of the shell whose standard input and output are the socket.
  static ForeignFunction of_command(const std::string& command, double timeout_s);
  /// A socket that this process inherited.
  static ForeignFunction on_socket(int descriptor, double timeout_s);

  ForeignFunction(ForeignFunction&& other) noexcept;
  ForeignFunction(const ForeignFunction&) = delete;
  ForeignFunction& operator=(const ForeignFunction&) = delete;
  ~ForeignFunction();

  /// Errors: InputError in one line for a crash, an exit, an error and a call longer than the timeout.
  void call(const ForeignCall& one);

 private:
  ForeignFunction(std::string name, int socket, pid_t child, double timeout_s);
  void send(const void* data, std::size_t size);
  void receive(void* data, std::size_t size);
  /// What the other side reports: empty where all is well.
  std::string receive_message();
  [[noreturn]] void refuse_answer(const std::string& found) const;
  [[noreturn]] void refuse_end();

  std::string name_, during_ = "when it was loaded";
  int socket_ = -1;
  pid_t child_ = -1;
  double timeout_s_ = 0;
};

}  // namespace mmaudit::checks

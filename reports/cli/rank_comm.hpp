#pragma once
// Processes of one campaign on several machines: short texts from one to another, nothing else. By MPI, or
// absent.
#include <memory>
#include <optional>
#include <string>

namespace mmaudit::cli {

struct RankMessage {
  int from = 0;
  std::string text;
};

class RankComm {
 public:
  RankComm() = default;
  RankComm(const RankComm&) = delete;
  RankComm& operator=(const RankComm&) = delete;
  virtual ~RankComm() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// This one's number among the ranks of this machine, and how many these are.
  [[nodiscard]] virtual int local_rank() const = 0;
  [[nodiscard]] virtual int local_size() const = 0;

  /// Never waits for the receiver. Texts to one rank arrive in order. EnvironmentError when it can't be sent.
  virtual void send(int to, const std::string& text) = 0;
  /// The next text, where there is one.
  virtual std::optional<RankMessage> receive() = 0;
  /// Waits until every rank is here; not called when one is lost.
  virtual void finish() = 0;
};

/// A text longer than this may wait for its receiver.
inline constexpr std::size_t kRankMessageBytes = 2048;

/// This process among those that `mpirun` started; null where nothing of that kind did, or started one only.
/// EnvironmentError when there are several and this build has no MPI.
std::unique_ptr<RankComm> join_ranks();

}  // namespace mmaudit::cli

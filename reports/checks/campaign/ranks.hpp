#pragma once
// The processes of one campaign, or of one screen, on several hosts. A rank of a campaign is a shard, one of
// a screen has GPUs of its host; rank 0 merges what the ranks gather at the end. When a rank dies, MPI ends
// all of them; the journals of a campaign keep what was done.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mmaudit::campaign {

class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;  ///< among the ranks of this host

  /// The `number` of rank 0. Every rank calls it.
  virtual std::uint64_t share(std::uint64_t number) = 0;
  /// The texts of all ranks, on rank 0; nothing on the others. Every rank calls it, last.
  virtual std::vector<std::string> gather(const std::string& text) = 0;
};

/// This process among those that `mpirun` started; null when mpirun started no other one. EnvironmentError
/// when there are several and this build has no MPI.
std::unique_ptr<Ranks> join_ranks();

}  // namespace mmaudit::campaign

// Everything that this program asks of MPI. Errors end all ranks, as MPI does by default.
#include <mpi.h>

#include <cstdlib>
#include <string_view>

#include "campaign/ranks.hpp"

namespace mmaudit::campaign {
namespace {

/// Set by mpirun, and by srun --mpi=pmix, which does not say how many ranks there are.
bool started_as_a_rank() {
  if (const char* size = std::getenv("OMPI_COMM_WORLD_SIZE")) return std::string_view(size) != "1";
  return std::getenv("PMIX_RANK") != nullptr;
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local_rank);
    MPI_Comm_size(host, &local_size);
    MPI_Comm_free(&host);
  }

  std::uint64_t share(std::uint64_t number) override {
    MPI_Bcast(&number, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return number;
  }

  std::vector<std::string> gather(const std::string& text) override {
    std::vector<std::string> texts;
    if (rank == 0) texts.push_back(text);
    for (int from = 1; rank == 0 && from < size; ++from) {
      MPI_Status status;
      MPI_Probe(from, 0, MPI_COMM_WORLD, &status);
      int bytes = 0;
      MPI_Get_count(&status, MPI_CHAR, &bytes);
      std::string& one = texts.emplace_back(static_cast<std::size_t>(bytes), '\0');
      MPI_Recv(one.data(), bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank != 0) MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return texts;
  }
};

}  // namespace

std::unique_ptr<Ranks> join_ranks() {
  if (!started_as_a_rank()) return nullptr;
  return std::make_unique<MpiRanks>();
}

}  // namespace mmaudit::campaign

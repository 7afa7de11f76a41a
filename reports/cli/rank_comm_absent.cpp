// Stands in where the build has no MPI.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "mmaudit/error.hpp"
#include "rank_comm.hpp"

namespace mmaudit::cli {

std::unique_ptr<RankComm> join_ranks() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size != nullptr && std::string_view(size) != "1")
    throw EnvironmentError(fmt::format(
        "mpirun: found {} ranks, allowed: 1, as this mmaudit was built without MPI (configure with "
        "MMAUDIT_MPI=ON, or give each process --part I/N and merge the results)",
        size));
  return nullptr;
}

}  // namespace mmaudit::cli

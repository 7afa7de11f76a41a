// Stands in where the build has no MPI.

#include <cstdlib>
#include <string_view>

#include "campaign/ranks.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::campaign {

std::unique_ptr<Ranks> join_ranks() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size != nullptr && std::string_view(size) != "1")
    throw EnvironmentError(
        refusal("mpirun: found {} ranks, allowed: 1, as this mmaudit was built without MPI (configure with "
                "MMAUDIT_MPI=ON, or start the processes without mpirun; campaign has --part I/N)",
                size));
  return nullptr;
}

}  // namespace mmaudit::campaign

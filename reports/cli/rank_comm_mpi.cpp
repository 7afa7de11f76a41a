// Everything that this program asks of MPI. Only the thread that joined calls it.
#include <mpi.h>

#include <cstdlib>
#include <list>
#include <string_view>

#include "mmaudit/error.hpp"
#include "rank_comm.hpp"

namespace mmaudit::cli {
namespace {

void require(int result, const char* what) {
  if (result != MPI_SUCCESS) throw EnvironmentError(std::string("MPI: ") + what + " failed");
}

/// Set by mpirun, and by srun --mpi=pmix, which does not say how many there are.
bool started_as_a_rank() {
  if (const char* size = std::getenv("OMPI_COMM_WORLD_SIZE")) return std::string_view(size) != "1";
  return std::getenv("PMIX_RANK") != nullptr;
}

class MpiComm final : public RankComm {
 public:
  MpiComm() {
    require(MPI_Init(nullptr, nullptr), "the start");
    require(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "the error handler");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm here = MPI_COMM_NULL;
    require(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here),
            "counting the ranks of a machine");
    MPI_Comm_rank(here, &local_rank_);
    MPI_Comm_size(here, &local_size_);
    MPI_Comm_free(&here);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int local_rank() const override { return local_rank_; }
  [[nodiscard]] int local_size() const override { return local_size_; }

  void send(int to, const std::string& text) override {
    collect();
    Sent& one = sent_.emplace_back(Sent{text, MPI_REQUEST_NULL});
    require(MPI_Isend(one.text.data(), static_cast<int>(one.text.size()), MPI_CHAR, to, kTag, MPI_COMM_WORLD,
                      &one.request),
            "sending");
  }

  std::optional<RankMessage> receive() override {
    collect();
    int there = 0;
    MPI_Status status;
    require(MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &there, &status), "looking for messages");
    if (there == 0) return std::nullopt;
    int bytes = 0;
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    RankMessage message{status.MPI_SOURCE, std::string(static_cast<std::size_t>(bytes), '\0')};
    require(
        MPI_Recv(message.text.data(), bytes, MPI_CHAR, message.from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        "receiving");
    return message;
  }

  void finish() override {
    for (Sent& one : sent_) MPI_Wait(&one.request, MPI_STATUS_IGNORE);
    sent_.clear();
    MPI_Finalize();
  }

 private:
  struct Sent {
    std::string text;  ///< has to stay until it has left
    MPI_Request request;
  };

  void collect() {
    std::erase_if(sent_, [](Sent& one) {
      int left = 0;
      require(MPI_Test(&one.request, &left, MPI_STATUS_IGNORE), "sending");
      return left != 0;
    });
  }

  static constexpr int kTag = 1;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  std::list<Sent> sent_;
};

}  // namespace

std::unique_ptr<RankComm> join_ranks() {
  if (!started_as_a_rank()) return nullptr;
  return std::make_unique<MpiComm>();
}

}  // namespace mmaudit::cli

// Stands in where there is no CUDA.
#include "mmaudit/device/decisions.hpp"
#include "mmaudit/device/exact_run.hpp"

namespace mmaudit::device {

struct LibrarySession::State {};

std::string why_no_library() { return "built without CUDA"; }
std::string library_version() { return {}; }
std::string why_no_kernel_names() { return why_no_library(); }

LibrarySession::LibrarySession(const DeviceInfo& /*device*/) { throw EnvironmentError(why_no_library()); }
LibrarySession::~LibrarySession() = default;
LibraryAnswer LibrarySession::run(const GemmProblem& /*problem*/, const void* /*a*/, const void* /*b*/,
                                  const LibraryRun& /*how*/) {
  throw EnvironmentError(why_no_library());
}
double LibrarySession::last_seconds() const { return 0; }

struct ExactSession::State {};
ExactSession::ExactSession(const DeviceInfo& /*device*/) { throw EnvironmentError(why_no_library()); }
ExactSession::~ExactSession() = default;
ExactAnswer ExactSession::run(const GemmProblem& /*problem*/, const exact::Product& /*product*/,
                              const exact::Words& /*words*/, const ExactAsk& /*ask*/) {
  throw EnvironmentError(why_no_library());
}
void LibrarySession::hold(const void* /*a*/, std::size_t /*a_bytes*/, const void* /*b*/,
                          std::size_t /*b_bytes*/) {
  throw EnvironmentError(why_no_library());
}
void LibrarySession::pin(const GemmProblem& /*problem*/) { throw EnvironmentError(why_no_library()); }
void LibrarySession::unpin() { throw EnvironmentError(why_no_library()); }

struct DecisionMemory {};
struct DecisionSession::State {};
std::shared_ptr<const DecisionMemory> decision_memory(const DeviceInfo& /*device*/,
                                                      const std::vector<GemmProblem>& /*problems*/) {
  throw EnvironmentError(why_no_library());
}
AlgorithmsLogged::AlgorithmsLogged(GemmApi /*api*/) : on_(false) { throw EnvironmentError(why_no_library()); }
AlgorithmsLogged::~AlgorithmsLogged() = default;
DecisionSession::DecisionSession(const DeviceInfo& /*device*/,
                                 std::shared_ptr<const DecisionMemory> /*memory*/) {
  throw EnvironmentError(why_no_library());
}
DecisionSession::~DecisionSession() = default;
LibraryCall DecisionSession::decide(const GemmProblem& /*problem*/) {
  throw EnvironmentError(why_no_library());
}

}  // namespace mmaudit::device

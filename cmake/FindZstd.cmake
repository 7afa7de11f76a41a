# zstd::zstd
include(ImportedLibrary)
mmaudit_find_library(Zstd zstd::zstd zstd.h zstd)

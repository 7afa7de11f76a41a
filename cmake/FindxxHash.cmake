# xxHash::xxhash
include(ImportedLibrary)
mmaudit_find_library(xxHash xxHash::xxhash xxhash.h xxhash)

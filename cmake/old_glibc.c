/* What g++ 12's runtime asks of glibc since 2.18, for programs that zig links against glibc 2.17 (Targets.cmake). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

/* 2.32: 1 lets shared pointers count without atomic instructions. */
char __libc_single_threaded = 0;

/* 2.35: where the unwind tables of the code at an address are. */
struct asked { uintptr_t code; struct dl_find_object *found; };

static int look(struct dl_phdr_info *object, size_t size, void *data) {
  (void)size;
  const struct asked *asked = data;
  void *frames = NULL;
  const ElfW(Phdr) *held = NULL;
  for (const ElfW(Phdr) *part = object->dlpi_phdr; part != object->dlpi_phdr + object->dlpi_phnum; ++part) {
    if (part->p_type == PT_LOAD && asked->code - object->dlpi_addr - part->p_vaddr < part->p_memsz) held = part;
    if (part->p_type == PT_GNU_EH_FRAME) frames = (void *)(object->dlpi_addr + part->p_vaddr);
  }
  if (held == NULL || frames == NULL) return 0;
  asked->found->dlfo_map_start = (void *)(object->dlpi_addr + held->p_vaddr);
  asked->found->dlfo_map_end = (void *)(object->dlpi_addr + held->p_vaddr + held->p_memsz);
  asked->found->dlfo_eh_frame = frames;
  return 1;
}

int _dl_find_object(void *code, struct dl_find_object *found) {
  struct asked asked = {(uintptr_t)code, found};
  return dl_iterate_phdr(look, &asked) == 1 ? 0 : -1;
}

/* 2.18. On 2.17 itself what a thread leaves is not destroyed. */
int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library) {
  int (*real)(void (*)(void *), void *, void *);
  *(void **)&real = dlsym(RTLD_DEFAULT, "__cxa_thread_atexit_impl");
  return real == NULL ? 0 : real(destroy, object, library);
}

/* 2.25, 2.36: std::random_device. */
int getentropy(void *bytes, size_t count) {
  const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  const ssize_t got = file < 0 ? -1 : read(file, bytes, count);
  if (file >= 0) close(file);
  return got == (ssize_t)count ? 0 : -1;
}

uint32_t arc4random(void) {
  uint32_t number;
  if (getentropy(&number, sizeof number) != 0) abort();
  return number;
}

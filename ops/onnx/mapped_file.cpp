// SPDX-License-Identifier: Apache-2.0
#include "ops/onnx/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace hone::onnx {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  const auto refused = [&](ErrorCode code, std::string_view why) {
    return Failure{code, fmt::format("{} cannot be read: {}", path.string(), why)};
  };
  // Without O_NONBLOCK a pipe of that name would wait for a writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return refused(ErrorCode::kNotFound, std::strerror(errno));
  struct stat status = {};
  const int error = ::fstat(fd, &status) == 0 ? 0 : errno;
  if (error != 0 || !S_ISREG(status.st_mode)) {
    ::close(fd);
    return refused(ErrorCode::kArgument,
                   error != 0 ? std::strerror(error) : "it is not a regular file");
  }
  const std::shared_ptr<MappedFile> file(new MappedFile);
  file->size_ = static_cast<size_t>(status.st_size);
  int map_error = 0;
  if (file->size_ > 0) {  // an empty file cannot be mapped
    void* data = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd, 0);
    map_error = data == MAP_FAILED ? errno : 0;
    if (map_error == 0) file->data_ = data;
  }
  ::close(fd);
  if (map_error != 0) return refused(ErrorCode::kMemory, std::strerror(map_error));
  return std::shared_ptr<const MappedFile>(file);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace hone::onnx

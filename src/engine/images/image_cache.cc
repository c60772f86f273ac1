#include "engine/images/image_cache.h"

namespace mixstack::images {

std::shared_ptr<const ElfImage> ImageCache::find(const Key& key) const {
  const std::lock_guard lock(mutex_);
  const auto it = images_.find(key);
  return it == images_.end() ? nullptr : it->second;
}

void ImageCache::insert(const Key& key, std::shared_ptr<const ElfImage> image) {
  const std::lock_guard lock(mutex_);
  if (images_.size() >= kMaxImages) images_.clear();
  images_.insert_or_assign(key, std::move(image));
}

}  // namespace mixstack::images

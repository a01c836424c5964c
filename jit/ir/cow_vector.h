// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace hone::ir {

/// A vector with copy-on-write elements: copies share them, and `edit` first makes one the owner's
/// own. A copy costs a pointer an element, however large the elements are. Copies may be used in
/// different threads; one copy, as any vector, by one thread at a time while it changes.
template <class T>
class CowVector {
  using Items = std::vector<std::shared_ptr<T>>;

 public:
  using value_type = T;

  class const_iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    const_iterator() = default;
    explicit const_iterator(typename Items::const_iterator at) : at_(at) {}
    const T& operator*() const { return **at_; }
    const T* operator->() const { return at_->get(); }
    const T& operator[](std::ptrdiff_t n) const { return *at_[n]; }
    const_iterator& operator++() { return ++at_, *this; }
    const_iterator operator++(int) { return const_iterator(at_++); }
    const_iterator& operator--() { return --at_, *this; }
    const_iterator operator--(int) { return const_iterator(at_--); }
    const_iterator& operator+=(std::ptrdiff_t n) { return at_ += n, *this; }
    const_iterator& operator-=(std::ptrdiff_t n) { return at_ -= n, *this; }
    friend const_iterator operator+(const_iterator i, std::ptrdiff_t n) { return i += n; }
    friend const_iterator operator+(std::ptrdiff_t n, const_iterator i) { return i += n; }
    friend const_iterator operator-(const_iterator i, std::ptrdiff_t n) { return i -= n; }
    friend std::ptrdiff_t operator-(const_iterator a, const_iterator b) { return a.at_ - b.at_; }
    bool operator==(const const_iterator&) const = default;
    auto operator<=>(const const_iterator&) const = default;

   private:
    typename Items::const_iterator at_;
  };
  using iterator = const_iterator;

  CowVector() = default;
  CowVector(std::initializer_list<T> items) {
    for (const T& item : items) push_back(item);
  }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const T& operator[](size_t i) const { return *items_[i]; }
  const T& front() const { return *items_.front(); }
  const T& back() const { return *items_.back(); }
  const_iterator begin() const { return const_iterator(items_.begin()); }
  const_iterator end() const { return const_iterator(items_.end()); }

  /// Where an element of this vector stands; size() if it is not one.
  size_t index_of(const T& item) const {
    size_t i = 0;
    while (i < items_.size() && items_[i].get() != &item) ++i;
    return i;
  }

  /// Element i to be changed. The reference holds until the vector is copied or changed.
  T& edit(size_t i) {
    std::shared_ptr<T>& item = items_[i];
    if (item.use_count() != 1) {
      item = std::make_shared<T>(std::as_const(*item));
    } else {
      // What another thread read through a copy that is gone, it has read before.
      std::atomic_thread_fence(std::memory_order_acquire);
    }
    return *item;
  }

  void push_back(T item) { items_.push_back(std::make_shared<T>(std::move(item))); }
  /// Before element i.
  void insert(size_t i, T item) {
    items_.insert(items_.begin() + static_cast<std::ptrdiff_t>(i),
                  std::make_shared<T>(std::move(item)));
  }
  void erase(size_t i) { items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(i)); }
  /// Drops the elements from `count` on.
  void truncate(size_t count) { items_.resize(count); }

 private:
  Items items_;
};

}  // namespace hone::ir

/* SPDX-License-Identifier: MIT */
/* dibs/data.hpp - maps, lists and sets that Java programs share: thin classes over the C
 * functions of data.h, map.h, list.h and set.h, which say all the rest. Keys and values are
 * bytes, taken as std::string_view and given as std::string. All of them throw dibs::error.
 * Link with -ldibs-data -ldibs. */
#ifndef DIBS_DATA_HPP
#define DIBS_DATA_HPP

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <dibs/guard.h>
#include <dibs/hold.hpp>
#include <dibs/list.h>
#include <dibs/map.h>
#include <dibs/set.h>

namespace dibs {
inline namespace DIBS_CPP {
namespace detail {

inline dibs_bytes bytes_of(std::string_view view) noexcept
{
  dibs_bytes bytes{};

  bytes.bytes = view.data();
  bytes.size = view.size();
  return bytes;
}

inline std::string_view view_of(dibs_bytes bytes) noexcept
{
  return {static_cast<const char *>(bytes.bytes), bytes.bytes == nullptr ? 0 : bytes.size};
}

/* What a call hands out, freed when it has been copied. */
class handed_out {
 public:
  handed_out() = default;
  handed_out(const handed_out &) = delete;
  handed_out &operator=(const handed_out &) = delete;
  ~handed_out() { dibs_value_free(value_); }

  dibs_value **put() noexcept { return &value_; }

  std::optional<std::string> copy() const
  {
    return value_ == nullptr ? std::nullopt
                             : std::optional<std::string>(std::in_place, value_->bytes,
                                                          value_->size);
  }

 private:
  dibs_value *value_ = nullptr;
};

/* Calls what the program gave for each entry: it may answer false, that is enough, or nothing.
 * An exception ends the walk, and goes on when the C function has returned. */
template <class Visitor>
class walk {
 public:
  explicit walk(Visitor &visitor) noexcept : visitor_(visitor) {}

  template <class... Views>
  bool visit(Views... views) noexcept
  {
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Visitor &, Views...>>) {
        visitor_(views...);
        return true;
      } else {
        return visitor_(views...);
      }
    } catch (...) {
      thrown_ = std::current_exception();
      return false;
    }
  }

  void end() const
  {
    if (thrown_)
      std::rethrow_exception(thrown_);
  }

 private:
  Visitor &visitor_;
  std::exception_ptr thrown_{};
};

/* What maps, lists and sets have in common. */
class data {
 public:
  const std::string &name() const noexcept { return name_; }

  /* Lets it end by itself. False: there is none. */
  bool expire(std::chrono::milliseconds ttl) const
  {
    return done(dibs_data_expire, std::int64_t{ttl.count()});
  }

  /* Lets it live for ever again. False: there is none, or it has no end. */
  bool persist() const { return done(dibs_data_persist); }

  /* As dibs_data_ttl(): -1 no end, -2 there is none. */
  std::int64_t ttl_ms() const
  {
    std::int64_t left = 0;

    check(client_, dibs_data_ttl(client_, name_.c_str(), &left), name_);
    return left;
  }

  /* Removes all of it. False: there was none. */
  bool erase() const { return done(dibs_data_delete); }

 protected:
  data(dibs::client &of, std::string name) : client_(of.get()), name_(c_name(std::move(name))) {}

  /* A C function whose last parameter says whether it did something. */
  template <class Function, class... Arguments>
  bool done(Function function, Arguments... arguments) const
  {
    bool is_done = false;

    check(client_, function(client_, name_.c_str(), arguments..., &is_done), name_);
    return is_done;
  }

  template <class Function, class... Arguments>
  std::uint64_t count(Function function, Arguments... arguments) const
  {
    std::uint64_t number = 0;

    check(client_, function(client_, name_.c_str(), arguments..., &number), name_);
    return number;
  }

  template <class Function, class... Arguments>
  std::optional<std::string> value(Function function, Arguments... arguments) const
  {
    handed_out value;

    check(client_, function(client_, name_.c_str(), arguments..., value.put()), name_);
    return value.copy();
  }

  /* The name of the lock that belongs to one key or member. */
  std::string key_lock(std::string_view key, dibs_key_lock kind) const
  {
    char lock[DIBS_NAME_MAX + 1];

    check(client_, dibs_key_lock_name(name_.c_str(), bytes_of(key), kind, lock, sizeof(lock)),
          name_);
    return lock;
  }

  dibs_client *client_;
  std::string name_;
};

}  // namespace detail

class map : public detail::data {
 public:
  map(dibs::client &of, std::string name) : data(of, std::move(name)) {}

  void put(std::string_view key, std::string_view value) const
  {
    detail::check(client_,
                  dibs_map_put(client_, name_.c_str(), detail::bytes_of(key),
                               detail::bytes_of(value), nullptr),
                  name_);
  }

  /* The same, and returns what was there before. */
  std::optional<std::string> exchange(std::string_view key, std::string_view value) const
  {
    return data::value(dibs_map_put, detail::bytes_of(key), detail::bytes_of(value));
  }

  bool put_if_absent(std::string_view key, std::string_view value) const
  {
    return done(dibs_map_put_if_absent, detail::bytes_of(key), detail::bytes_of(value));
  }

  bool replace(std::string_view key, std::string_view value) const
  {
    return done(dibs_map_replace, detail::bytes_of(key), detail::bytes_of(value));
  }

  bool replace_if(std::string_view key, std::string_view expected, std::string_view value) const
  {
    return done(dibs_map_replace_if, detail::bytes_of(key), detail::bytes_of(expected),
                detail::bytes_of(value));
  }

  std::optional<std::string> get(std::string_view key) const
  {
    return data::value(dibs_map_get, detail::bytes_of(key));
  }

  bool contains(std::string_view key) const
  {
    return done(dibs_map_contains, detail::bytes_of(key));
  }

  std::uint64_t size() const { return count(dibs_map_size); }

  void remove(std::string_view key) const
  {
    detail::check(client_,
                  dibs_map_remove(client_, name_.c_str(), detail::bytes_of(key), nullptr),
                  name_);
  }

  /* The same, and returns what was there. */
  std::optional<std::string> take(std::string_view key) const
  {
    return data::value(dibs_map_remove, detail::bytes_of(key));
  }

  bool remove_if(std::string_view key, std::string_view expected) const
  {
    return done(dibs_map_remove_if, detail::bytes_of(key), detail::bytes_of(expected));
  }

  /* Sets `key`, which has no zero byte in it, only if the fence of `under`, an exclusive hold,
   * is not older than the last one seen. False: it is, and nothing was written. */
  [[nodiscard]] bool put_guarded(const hold &under, const std::string &key,
                                 std::string_view value) const
  {
    dibs_field field{};

    whole(key);
    field.name = key.c_str();
    field.value = value.data();
    field.value_size = value.size();
    return admitted(dibs_guarded_hset(client_, name_.c_str(), under.fence(), &field, 1));
  }

  [[nodiscard]] bool remove_guarded(const hold &under, const std::string &key) const
  {
    const char *const field = key.c_str();

    whole(key);
    return admitted(dibs_guarded_hdel(client_, name_.c_str(), under.fence(), &field, 1));
  }

  /* The value of `key`, and the highest fence of a guarded write to this map (0: none), of one
   * moment. */
  [[nodiscard]] std::pair<std::optional<std::string>, std::uint64_t>
  get_guarded(const std::string &key) const
  {
    detail::handed_out found;
    std::uint64_t fence = 0;

    whole(key);
    detail::check(client_,
                  dibs_guarded_hget(client_, name_.c_str(), key.c_str(), found.put(), &fence),
                  name_);
    return {found.copy(), fence};
  }

  /* `visitor(std::string_view key, std::string_view value)`; views end with the call. One whose
   * data() is nullptr found no room: it is longer than the library reads. */
  template <class Visitor>
  void each(Visitor &&visitor) const
  {
    using walk = detail::walk<std::remove_reference_t<Visitor>>;
    walk one(visitor);

    detail::check(client_,
                  dibs_map_each(
                    client_, name_.c_str(),
                    [](dibs_bytes key, dibs_bytes value, void *w) {
                      return static_cast<walk *>(w)->visit(detail::view_of(key),
                                                           detail::view_of(value));
                    },
                    &one),
                  name_);
    one.end();
  }

  std::string lock_name(std::string_view key, dibs_key_lock kind = DIBS_KEY_LOCK) const
  {
    return key_lock(key, kind);
  }

 private:
  /* The C function would cut it at its first zero byte. */
  void whole(const std::string &key) const
  {
    if (key.find('\0') != std::string::npos)
      detail::refuse("a key with a zero byte in it", name_);
  }

  bool admitted(dibs_status status) const
  {
    if (status != DIBS_FENCED)
      detail::check(client_, status, name_);
    return status == DIBS_OK;
  }
};

class list : public detail::data {
 public:
  list(dibs::client &of, std::string name) : data(of, std::move(name)) {}

  /* Appends (add) or prepends (add_first) an element; returns the new length. */
  std::uint64_t add(std::string_view element) const
  {
    return count(dibs_list_add, detail::bytes_of(element));
  }

  std::uint64_t add_first(std::string_view element) const
  {
    return count(dibs_list_add_first, detail::bytes_of(element));
  }

  /* -1 is the last. */
  std::optional<std::string> get(std::int64_t index) const
  {
    return value(dibs_list_get, index);
  }

  bool set(std::int64_t index, std::string_view element) const
  {
    return done(dibs_list_set, index, detail::bytes_of(element));
  }

  bool insert(std::int64_t index, std::string_view element) const
  {
    return done(dibs_list_insert, index, detail::bytes_of(element));
  }

  /* Returns how many were removed; `most` as dibs_list_remove() takes it. */
  std::uint64_t remove(std::string_view element, std::int64_t most = 0) const
  {
    return count(dibs_list_remove, detail::bytes_of(element), most);
  }

  bool remove_at(std::int64_t index) const { return done(dibs_list_remove_at, index); }

  std::uint64_t size() const { return count(dibs_list_size); }

  std::optional<std::string> pop_first() const { return value(dibs_list_pop_first); }
  std::optional<std::string> pop_last() const { return value(dibs_list_pop_last); }

  /* The first element, as soon as there is one; empty: none came in time. */
  std::optional<std::string> take(longest_wait wait = forever) const
  {
    dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
    dibs_status status = DIBS_OK;
    detail::handed_out element;

    if (wait.is_at_once())
      return pop_first();
    do {
      options.wait_ms = wait.ms();
      status = dibs_list_take(client_, name_.c_str(), &options, element.put());
    } while (status == DIBS_TIMED_OUT && wait.goes_on());
    if (status != DIBS_TIMED_OUT)
      detail::check(client_, status, name_);
    return element.copy();
  }

  /* `visitor(std::uint64_t index, std::string_view element)`, for `most` (0: all) from `from`. */
  template <class Visitor>
  void each(Visitor &&visitor, std::uint64_t from = 0, std::uint64_t most = 0) const
  {
    using walk = detail::walk<std::remove_reference_t<Visitor>>;
    walk one(visitor);

    detail::check(client_,
                  dibs_list_range(
                    client_, name_.c_str(), from, most,
                    [](std::uint64_t index, dibs_bytes element, void *w) {
                      return static_cast<walk *>(w)->visit(index, detail::view_of(element));
                    },
                    &one),
                  name_);
    one.end();
  }
};

class set : public detail::data {
 public:
  set(dibs::client &of, std::string name) : data(of, std::move(name)) {}

  /* False: it was a member already. */
  bool add(std::string_view member) const { return done(dibs_set_add, detail::bytes_of(member)); }

  /* False: it was none. */
  bool remove(std::string_view member) const
  {
    return done(dibs_set_remove, detail::bytes_of(member));
  }

  bool contains(std::string_view member) const
  {
    return done(dibs_set_contains, detail::bytes_of(member));
  }

  std::uint64_t size() const { return count(dibs_set_size); }

  /* Any of them, by chance. */
  std::optional<std::string> pop() const { return value(dibs_set_pop); }

  /* `visitor(std::string_view member)`. */
  template <class Visitor>
  void each(Visitor &&visitor) const
  {
    using walk = detail::walk<std::remove_reference_t<Visitor>>;
    walk one(visitor);

    detail::check(client_,
                  dibs_set_each(
                    client_, name_.c_str(),
                    [](dibs_bytes member, void *w) {
                      return static_cast<walk *>(w)->visit(detail::view_of(member));
                    },
                    &one),
                  name_);
    one.end();
  }

  std::string lock_name(std::string_view member, dibs_key_lock kind = DIBS_KEY_LOCK) const
  {
    return key_lock(member, kind);
  }
};

}  // namespace DIBS_CPP
}  // namespace dibs

#endif

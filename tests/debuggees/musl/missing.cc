// The three things of namespace std that the runtime takes from GNU's C++ library, besides what the ABI says: no
// headers, which are another library's.
extern "C" [[noreturn]] void abort() noexcept;
namespace std {
struct nothrow_t {};
extern const nothrow_t nothrow;
const nothrow_t nothrow{};
[[noreturn]] void __throw_length_error(const char*) { abort(); }
[[noreturn]] void __throw_bad_array_new_length() { abort(); }
}  // namespace std

/*
 * C++: a cache whose entries go after 30 s without use. Queues and timers are objects that own their ids, handlers are
 * lambdas, durations are std::chrono's; what fails to create something throws. An entry owns its timer, so a timer never calls
 * into an entry that is gone.
 *
 * Build:  make (or c++ -std=c++17 cache.cpp -o build/cache -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/cache
 *
 * Output:
 *   answer: 42
 *   at 50 s: answer goes
 *   answer: nothing
 */
#include <chime.hpp>
#include <iostream>
#include <map>
#include <string>

using namespace std::chrono_literals;

class cache {
 public:
  explicit cache(chime::queue &queue) : queue_(queue) {}

  void put(const std::string &key, std::string value) {
    entries_[key] = {std::move(value), queue_.after(30s, [this, key] {
                       std::cout << "at " << queue_.now().time_since_epoch() / 1s << " s: " << key << " goes\n";
                       entries_.erase(key); // a timer may go inside its own handler
                     })};
  }

  std::string get(const std::string &key) {
    auto found = entries_.find(key);
    if (found == entries_.end()) return "nothing";
    found->second.unused.postpone(30s).or_throw();
    return found->second.value;
  }

 private:
  struct entry {
    std::string value;
    chime::timer unused;
  };
  chime::queue &queue_;
  std::map<std::string, entry> entries_;
};

int main() {
  chime::queue queue(CHIME_QUEUE_VIRTUAL); // on CHIME_QUEUE_SERIAL, call the cache inside queue.sync
  cache answers(queue);
  answers.put("answer", "42");
  queue.advance(20s).or_throw();
  std::cout << "answer: " << answers.get("answer") << "\n";
  queue.advance(1min).or_throw();
  std::cout << "answer: " << answers.get("answer") << "\n";
}

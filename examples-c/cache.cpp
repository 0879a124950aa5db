/*
 * C++: a cache whose entries go after 30 s without use. Queues and timers are objects that own their ids, handlers are
 * lambdas, durations are std::chrono's; what fails to create something throws. An entry owns its timer, and the cache its
 * queue, which is declared after what handlers use: it ends first, and no handler runs any more when the entries go.
 *
 * Build:  make (or c++ -std=c++17 cache.cpp -o build/cache -I../include -Lbuild/lib -lchime -Wl,-rpath,build/lib)
 * Run:    build/cache
 *
 * Output:
 *   answer: 42
 *   at 50 s: answer goes
 *   answer: nothing
 *   question: what?
 */
#include <chime.hpp>
#include <iostream>
#include <map>
#include <string>

using namespace std::chrono_literals;

class cache {
 public:
  explicit cache(chime_queue_kind kind) : queue(kind) {}

  void put(const std::string &key, std::string value) {
    entries_[key] = {std::move(value), queue.after(30s, [this, key] {
                       std::cout << "at " << queue.now().time_since_epoch() / 1s << " s: " << key << " goes\n";
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
  std::map<std::string, entry> entries_;

 public:
  chime::queue queue; // the last member: the first to go
};

int main() {
  cache answers(CHIME_QUEUE_VIRTUAL);
  answers.put("answer", "42");
  answers.queue.advance(20s).or_throw();
  std::cout << "answer: " << answers.get("answer") << "\n";
  answers.queue.advance(1min).or_throw();
  std::cout << "answer: " << answers.get("answer") << "\n";

  // In real time handlers run on a thread of Chime's, in turn with what goes through queue.sync.
  cache questions(CHIME_QUEUE_SERIAL);
  questions.queue
      .sync([&] {
        questions.put("question", "what?");
        std::cout << "question: " << questions.get("question") << "\n";
      })
      .or_throw();
}

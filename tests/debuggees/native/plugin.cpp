// A library that is loaded and unloaded all the time. Built twice: the same places hold other functions.
using Leaf = void (*)();
#if PLUGIN == 1
extern "C" __attribute__((noinline)) void alpha_inner(Leaf leaf) {
  volatile char block[200];
  block[0] = 1;
  leaf();
  block[1] = block[0];
}
extern "C" __attribute__((noinline)) void alpha_outer(Leaf leaf) {
  alpha_inner(leaf);
  asm volatile("");
}
extern "C" void plugin_work(Leaf leaf) {
  alpha_outer(leaf);
  asm volatile("");
}
#else
extern "C" __attribute__((noinline)) void beta_inner(Leaf leaf) {
  volatile char block[3000];
  block[0] = 1;
  leaf();
  block[1] = block[0];
}
extern "C" void plugin_work(Leaf leaf) {
  volatile char block[500];
  block[0] = 1;
  beta_inner(leaf);
  block[1] = block[0];
}
#endif

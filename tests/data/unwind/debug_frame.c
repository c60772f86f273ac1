/* Compiled by a test into shared objects with .debug_frame and no .eh_frame. */
int other(int *values, int count);

int recursive(int depth, int *values) {
  int local[40];
  for (int i = 0; i < 40; i++) local[i] = values[i] + depth;
  int sum = depth > 0 ? recursive(depth - 1, local) : 0;
  for (int i = 0; i < 40; i++) sum += local[i] * values[i];
  return sum;
}

int variable(int count, int *values) {
  int local[count];
  for (int i = 0; i < count; i++) local[i] = values[i];
  return other(local, count) + local[count / 2];
}

int early(int *values, int count) {
  if (count == 0) return 0;
  int a = other(values, count), b = other(values + 1, count - 1);
  if (a > b) return a;
  return other(values, a + b) + a * b;
}

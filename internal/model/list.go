package model

// Map returns the results of a function for the items of a list, in their order.
func Map[T, R any](list []T, of func(T) R) []R {
	out := make([]R, len(list))
	for i, item := range list {
		out[i] = of(item)
	}
	return out
}

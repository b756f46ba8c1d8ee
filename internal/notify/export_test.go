package notify

// Idle waits until nobody is being told.
func (n *Notifier) Idle() { n.told.Wait() }

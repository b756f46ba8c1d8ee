// Package notifications has the operations on notification rules and their deliveries.
package notifications

// Package notifications implements the operations on notification rules and their deliveries.
package notifications

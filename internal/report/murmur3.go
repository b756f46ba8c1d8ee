package report

import (
	"encoding/binary"
	"math/bits"
)

// murmur3 is MurmurHash3 for x64 with 128 bits and seed 0, which Semgrep's
// syntactic ids are made with.
func murmur3(data []byte) (h1, h2 uint64) {
	size := uint64(len(data))
	for ; len(data) >= 16; data = data[16:] {
		h1 ^= mixLow(binary.LittleEndian.Uint64(data))
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= mixHigh(binary.LittleEndian.Uint64(data[8:]))
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var tail [16]byte
	copy(tail[:], data)
	h1 ^= mixLow(binary.LittleEndian.Uint64(tail[:]))
	h2 ^= mixHigh(binary.LittleEndian.Uint64(tail[8:]))
	h1, h2 = h1^size, h2^size
	h1 += h2
	h2 += h1
	h1, h2 = avalanche(h1), avalanche(h2)
	h1 += h2
	return h1, h2 + h1
}

const (
	murmurLow  = 0x87c37b91114253d5
	murmurHigh = 0x4cf5ad432745937f
)

func mixLow(k uint64) uint64  { return bits.RotateLeft64(k*murmurLow, 31) * murmurHigh }
func mixHigh(k uint64) uint64 { return bits.RotateLeft64(k*murmurHigh, 33) * murmurLow }

// avalanche lets every bit depend on every other one.
func avalanche(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func bigEndian(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

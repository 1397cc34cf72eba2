// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): one text for the GPU and for the
// CPU (runtime/lib/random/philox.h).

// Makes four random words of a counter of four.
FORMULA void philoxRounds(uint32* c, uint64 seed) {
  uint32 k0 = (uint32)seed, k1 = (uint32)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64 p0 = (uint64)0xD2511F53u * c[0], p1 = (uint64)0xCD9E8D57u * c[2];
    const uint32 c1 = c[1], c3 = c[3];
    c[0] = (uint32)(p1 >> 32) ^ c1 ^ k0;
    c[1] = (uint32)p1;
    c[2] = (uint32)(p0 >> 32) ^ c3 ^ k1;
    c[3] = (uint32)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

"""A character-level language model: an LSTM learns to continue a text."""

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

TEXT = "the quick brown fox jumps over the lazy dog; pack my box with five dozen liquor jugs. " * 6


class Characters(Dataset):
    """Windows of a text, and the same windows one character later."""

    def __init__(self, text, length):
        self.alphabet = sorted(set(text))
        index = {c: i for i, c in enumerate(self.alphabet)}
        self.data = torch.tensor([index[c] for c in text], dtype=torch.long)
        self.length = length

    def __len__(self):
        return (len(self.data) - 1) // self.length

    def __getitem__(self, i):
        start = i * self.length
        return self.data[start : start + self.length], self.data[start + 1 : start + self.length + 1]


class CharRNN(nn.Module):
    def __init__(self, characters, hidden):
        super().__init__()
        self.embedding = nn.Embedding(characters, 24)
        self.lstm = nn.LSTM(24, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, characters)

    def forward(self, x, state=None):
        h, state = self.lstm(self.embedding(x), state)
        return self.head(h), state


def init_weights(model, seed=0):
    rng = np.random.RandomState(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.from_numpy(rng.uniform(-0.2, 0.2, tuple(p.shape))))


def sample(model, dataset, length):
    """The most likely continuation of the first character."""
    model.eval()
    x, state, out = dataset.data[:1].unsqueeze(0), None, []
    with torch.no_grad():
        for _ in range(length):
            logits, state = model(x, state)
            x = logits[:, -1].argmax(dim=-1, keepdim=True)
            out.append(dataset.alphabet[x.item()])
    return "".join(out)


def main():
    dataset = Characters(TEXT, length=32)
    loader = DataLoader(dataset, batch_size=8, shuffle=False, drop_last=True)
    model = CharRNN(len(dataset.alphabet), 48)
    init_weights(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    step = 0
    while step < 10:
        for x, y in loader:
            logits, _ = model(x)
            loss = criterion(logits.reshape(-1, logits.size(-1)), y.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            print(f"step {step} loss {loss.item():.7f}")
            step += 1
            if step == 10:
                break
    assert len(sample(model, dataset, 20)) == 20


if __name__ == "__main__":
    main()

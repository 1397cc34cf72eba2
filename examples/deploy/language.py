"""Train a small GPT on text and save it as a program that writes: text.cpp runs it.

    python examples/deploy/language.py FOLDER [--text FILE ...] [--steps N] [--seed N]

Into FOLDER goes `text.tandem`. Its tokens are bytes, its default text is this project's documentation. It has two
entries, which share the weights:

    prompt   tokens[length] -> the next token, keys and values of the tokens so far
    next     a token, keys and values of `cached` tokens -> the next token, keys and values of one more
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import tandem
from tandem import Tensor, nn
from tandem.export import Dim, Entry, entries

DOCS = Path(__file__).parents[2] / "docs"
TOKENS, WIDTH, HEADS, LAYERS, CONTEXT = 256, 64, 4, 2, 128
BATCH = 16


class Block(nn.Module):
    """Attention to the tokens so far, and two layers for each token by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.ask, self.answer = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.think = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """x [batch, length, width], keys and values [batch, heads, cached, width / heads] of the tokens before; the new
        x, and keys and values with those of x behind them."""
        batch, length, _ = x.shape
        parts = self.ask(self.before(x)).reshape(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        keys, values = tandem.cat([keys, parts[1]], 2), tandem.cat([values, parts[2]], 2)
        seen = tandem.ones(length, keys.shape[2]).tril(keys.shape[2] - length).bool()
        read = nn.functional.scaled_dot_product_attention(parts[0], keys, values, attn_mask=seen)
        x = x + self.answer(read.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.think(self.between(x)), keys, values


class Model(nn.Module):
    """Bytes in, a score for each byte that may follow."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(TOKENS, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.norm, self.score = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TOKENS)

    def forward(self, tokens: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """tokens [batch, length], keys and values [layers, batch, heads, cached, width / heads]."""
        cached, length = keys.shape[3], tokens.shape[1]
        x = self.token(tokens) + self.place.weight[cached : cached + length]
        all_keys, all_values = [], []
        for number, block in enumerate(self.blocks):
            x, k, v = block(x, keys[number], values[number])
            all_keys.append(k)
            all_values.append(v)
        return self.score(self.norm(x)), tandem.stack(all_keys), tandem.stack(all_values)


def nothing(batch: int) -> Tensor:
    """Keys, or values, of no tokens."""
    return tandem.zeros(LAYERS, batch, HEADS, 0, WIDTH // HEADS)


def train(model: Model, text: Tensor, steps: int) -> float:
    optimizer = tandem.optim.AdamW(model.parameters(), lr=3e-3)

    @tandem.compile
    def step(tokens: Tensor) -> Tensor:
        scores, _, _ = model(tokens[:, :-1], nothing(BATCH), nothing(BATCH))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    loss = tandem.zeros(())
    for _ in range(steps):
        first = tandem.randint(0, len(text) - CONTEXT, (BATCH, 1))
        loss = step(text[first + tandem.arange(CONTEXT)])
    return loss.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where text.tandem goes")
    parser.add_argument("--text", type=Path, nargs="+", help="files to learn from (default: the documentation)")
    parser.add_argument("--steps", type=int, default=1500, help="training steps")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights, batches and of what is written")
    args = parser.parse_args()
    files = args.text or sorted(DOCS.glob("*.md"))
    content = b"\n".join(path.read_bytes() for path in files)
    if len(content) <= CONTEXT:
        parser.error(f"{len(content)} bytes of text are too few")
    args.folder.mkdir(parents=True, exist_ok=True)

    tandem.manual_seed(args.seed)
    model = Model()
    loss = train(model, tandem.from_numpy(np.frombuffer(content, np.uint8).astype(np.int64)), args.steps)

    def chosen(scores: Tensor, temperature: float) -> Tensor:
        return tandem.multinomial((scores[:, -1] / temperature).softmax(-1), 1)[0]

    def prompt(tokens: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
        scores, keys, values = model(tokens.unsqueeze(0), nothing(1), nothing(1))
        return chosen(scores, temperature), keys, values

    def following(token: Tensor, keys: Tensor, values: Tensor, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
        scores, keys, values = model(token.unsqueeze(0), keys, values)
        return chosen(scores, temperature), keys, values

    length, cached = Dim("length", max=CONTEXT), Dim("cached", max=CONTEXT - 1)
    some = tandem.zeros(LAYERS, 1, HEADS, 4, WIDTH // HEADS)
    token = tandem.zeros(1, dtype=tandem.int64)
    tandem.manual_seed(args.seed)
    program = entries(
        prompt=Entry(prompt, (token.repeat(4), 0.8), dynamic_shapes=({0: length}, None)),
        next=Entry(following, (token, some, some.clone(), 0.8), dynamic_shapes=(None, {3: cached}, {3: cached}, None)),
    )
    program.save(args.folder / "text.tandem")
    print(f"Learned from {len(content)} bytes to a loss of {loss:.2f}, and wrote text.tandem to {args.folder}.")


if __name__ == "__main__":
    main()

"""Policy gradients (REINFORCE) on a small balancing task."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

GAMMA = 0.98
EPS = np.finfo(np.float32).eps.item()
rng = np.random.RandomState(3)


class Balance:
    """A point on a ridge: a push left or right each step; the episode ends when it has rolled off."""

    def reset(self):
        self.state = rng.uniform(-0.05, 0.05, 4)
        return self.state

    def step(self, action):
        x, v, a, w = self.state
        push = 1.0 if action == 1 else -1.0
        v, w = v + 0.08 * (push - 0.3 * a), w + 0.08 * (2.0 * a - push)
        self.state = np.array([x + 0.08 * v, v, a + 0.08 * w, w])
        done = abs(self.state[0]) > 2.0 or abs(self.state[2]) > 0.5
        return self.state, 1.0, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 32)
        self.dropout = nn.Dropout(p=0.0)
        self.affine2 = nn.Linear(32, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


policy = Policy()
with torch.no_grad():
    for p in policy.parameters():
        p.copy_(torch.as_tensor(rng.uniform(-0.4, 0.4, tuple(p.shape))))
optimizer = optim.Adam(policy.parameters(), lr=1e-2)


def select_action(state):
    state = torch.from_numpy(state).float().unsqueeze(0)
    m = Categorical(policy(state))
    # The draw comes from NumPy, so that a run can be repeated by any library.
    action = torch.tensor([int(rng.uniform() < m.probs[0, 1].item())])
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    returns = []
    for r in policy.rewards[::-1]:
        R = r + GAMMA * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + EPS)
    policy_loss = [-log_prob * R for log_prob, R in zip(policy.saved_log_probs, returns)]
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss


def main():
    env = Balance()
    for episode in range(10):
        state = env.reset()
        for _ in range(40):
            state, reward, done = env.step(select_action(state))
            policy.rewards.append(reward)
            if done:
                break
        print(f"step {episode} loss {finish_episode().item():.7f}")


if __name__ == "__main__":
    main()
